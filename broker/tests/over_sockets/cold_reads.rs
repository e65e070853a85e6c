//! Reading what the page cache has given up: every byte arrives, in bounded answers.

use std::fs::{self, File};
use std::path::Path;

use bytes::Bytes;
use pillion_wire::messages::FetchRequest;
use pillion_wire::records::Compression;
use rustix::fs::{Advice, fadvise};

use crate::support::{
    Client, Fetched, TestBroker, batch_of, create_topic, fetch, fetch_request, list_offset, produce, record, split,
};

/// Batches of various sizes, `total` bytes of records in all.
fn fill(client: &mut Client, topic: &str, total: usize) {
    let mut filled = 0;
    for size in [300, 50_000, 900_000, 70_000, 10].into_iter().cycle() {
        let value: Vec<u8> = (0..size).map(|place| (place * 31 + place / 251 + filled) as u8).collect();
        let answer = produce(client, topic, 0, batch_of(&[record(value, 1_000)], Compression::None, None));
        assert_eq!(answer.error_code, 0);
        filled += size;
        if filled >= total {
            return;
        }
    }
}

/// Takes a partition's segments out of the page cache.
fn evict(directory: &Path, partition: &str) {
    for entry in fs::read_dir(directory.join(partition)).expect("the partition is there") {
        let file = File::open(entry.expect("it can be listed").path()).expect("it opens");
        file.sync_all().expect("it is on disk");
        fadvise(&file, 0, None, Advice::DontNeed).expect("the kernel takes the advice");
    }
}

/// Reads partition 0 from its beginning; answers its bytes, without what was cut off, and the number of answers.
fn read(client: &mut Client, topic: &str, mut between: impl FnMut()) -> (Vec<u8>, usize) {
    let (mut bytes, mut answers, mut offset) = (Vec::new(), 0, 0);
    let end = list_offset(client, topic, 0, -1).offset;
    while offset < end {
        between();
        let fetched = fetch(client, topic, 0, offset);
        assert_eq!(fetched.error_code, 0);
        let batches = split(&fetched.bytes());
        assert!(!batches.is_empty(), "no batch at {offset}");
        offset += batches.len() as i64;
        batches.iter().for_each(|batch| bytes.extend_from_slice(batch));
        answers += 1;
    }
    (bytes, answers)
}

#[test]
fn what_is_not_in_memory_is_read_whole() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[("log.segment.bytes", "3000000")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    fill(&mut client, "t", 9_000_000);
    let (expected, _) = read(&mut client, "t", || {});
    evict(directory.path(), "t-0");
    let (once, _) = read(&mut client, "t", || {});
    assert!(once == expected, "after being evicted once the log reads differently");
    let (often, _) = read(&mut client, "t", || evict(directory.path(), "t-0"));
    assert!(often == expected, "evicted before every answer the log reads differently");
}

#[test]
fn what_leaves_memory_while_it_is_sent_is_brought_back() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    // More than the sockets' buffers take.
    fill(&mut client, "t", 24_000_000);
    let mut request = fetch_request("t", 0, 0);
    request.topics[0].partitions[0].partition_max_bytes = i32::MAX;
    let expected = client.call(&request, 12).responses[0].partitions[0].bytes();
    assert!(expected.len() >= 24_000_000);
    client.send(&request, 12);
    // Once another is answered the first one is on its way as far as it goes.
    list_offset(&mut broker.client(), "t", 0, -1);
    evict(directory.path(), "t-0");
    assert!(client.receive::<FetchRequest>(12).responses[0].partitions[0].bytes() == expected);
}

#[test]
fn many_cold_readers_are_all_served() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    let topics: Vec<_> = (0..40).map(|number| format!("t{number}")).collect();
    for topic in &topics {
        create_topic(&mut client, topic, 1, &[]);
        fill(&mut client, topic, 200_000);
    }
    let expected: Vec<Bytes> = topics.iter().map(|topic| fetch(&mut client, topic, 0, 0).bytes()).collect();
    topics.iter().for_each(|topic| evict(directory.path(), &format!("{topic}-0")));
    let mut readers: Vec<_> = topics.iter().map(|_| broker.client()).collect();
    for (reader, topic) in readers.iter_mut().zip(&topics) {
        reader.send(&fetch_request(topic, 0, 0), 12);
    }
    for (reader, expected) in readers.iter_mut().zip(&expected) {
        let answer = reader.receive::<FetchRequest>(12);
        let got = answer.responses[0].partitions[0].bytes();
        let first = split(expected)[0].len();
        assert!(got.len() >= first && expected.starts_with(&got), "{} of {} bytes", got.len(), expected.len());
    }
}
