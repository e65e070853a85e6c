//! Records deleted while they are being read: whoever has begun to get them gets them whole, everyone else is told that
//! they are gone, and nobody is sent other bytes in their place.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{DeleteRecordsRequest, FetchRequest, IncrementalAlterConfigsRequest};
use pillion_wire::records::Compression;
use rustix::fs::{Advice, fadvise};

use crate::support::{
    Client, Fetched, TestBroker, batch_of, create_topic, delete_topic, eventually, fetch, fetch_request, list_offset,
    produce, record, records_of,
};

/// Maintenance as often as a test can bear.
const OFTEN: [(&str, &str); 1] = [("log.retention.check.interval.ms", "20")];
/// However old the records say they are.
const KEPT: (&str, &str) = ("retention.ms", "-1");
const DELETED_AT_ONCE: (&str, &str) = ("file.delete.delay.ms", "0");
const OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC: i16 = 3;

/// A record's value: its offset, and bytes that follow from it.
fn value(offset: i64, length: usize) -> Vec<u8> {
    let mut value = format!("{offset} ").into_bytes();
    value.extend((value.len()..length).map(|place| (place as i64 * 31 + offset * 7 + place as i64 / 251) as u8));
    value
}

/// Produces records of `length` bytes, a batch each, so that the next offset is `end`.
fn fill(client: &mut Client, end: i64, length: usize) {
    for offset in list_offset(client, "t", 0, -1).offset..end {
        let batch = batch_of(&[record(value(offset, length), 1_000)], Compression::None, None);
        let answer = produce(client, "t", 0, batch);
        assert_eq!((answer.error_code, answer.base_offset), (0, offset));
    }
}

fn delete_below(client: &mut Client, offset: i64) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset }];
    let topics = vec![DeleteRecordsTopic { name: "t".to_owned(), partitions }];
    let answer = client.call(&DeleteRecordsRequest { topics, timeout_ms: 1_000 }, 2);
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
}

/// Lets retention have everything but the active segment.
fn retain_nothing(client: &mut Client) {
    let config =
        AlterableConfig { name: "retention.bytes".to_owned(), config_operation: 0, value: Some("0".to_owned()) };
    let resource = AlterConfigsResource { resource_type: 2, resource_name: "t".to_owned(), configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert_eq!(client.call(&request, 1).responses[0].error_code, 0);
}

/// The partition's closed segments, and those whose files still wait for their removal.
fn old_segments(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory.join("t-0")) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".log"));
    paths.sort();
    paths.pop();
    paths
}

/// Takes a file out of the page cache, whether it has a name or not.
fn evict(file: &File) {
    file.sync_all().expect("it is on disk");
    fadvise(file, 0, None, Advice::DontNeed).expect("the kernel takes the advice");
}

/// A way to delete records, what it does, and the code that a reader gets afterwards.
type Way = (&'static str, fn(&mut Client), i16);

#[test]
fn a_reader_in_the_middle_of_an_answer_gets_the_rest_of_what_is_deleted_meanwhile() {
    let ways: [Way; 3] = [
        ("by request", |client| delete_below(client, 26), OUT_OF_RANGE),
        ("by retention", retain_nothing, OUT_OF_RANGE),
        ("with its topic", |client| delete_topic(client, "t"), UNKNOWN_TOPIC),
    ];
    for (way, delete, code) in ways {
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let broker = TestBroker::start(directory.path(), &OFTEN);
        let mut client = broker.client();
        // One segment of 26 records, more than the sockets' buffers take, and one with another.
        create_topic(&mut client, "t", 1, &[("segment.bytes", "26100000"), KEPT, DELETED_AT_ONCE]);
        fill(&mut client, 27, 1_000_000);
        let [segment] = &old_segments(directory.path())[..] else { panic!("there are two segments") };
        let segment = File::open(segment).expect("it opens");
        let mut request = fetch_request("t", 0, 0);
        request.topics[0].partitions[0].partition_max_bytes = i32::MAX;
        let expected = client.call(&request, 12).responses[0].partitions[0].bytes();
        assert_eq!(records_of(&expected, 0).len(), 26);
        let mut slow = broker.client();
        slow.send(&request, 12);
        // Once another is answered the slow one's answer is on its way as far as it goes.
        list_offset(&mut client, "t", 0, -1);
        delete(&mut client);
        eventually("the segment's file is gone", || old_segments(directory.path()).is_empty());
        evict(&segment);
        assert_eq!(fetch(&mut broker.client(), "t", 0, 0).error_code, code, "deleted {way}");
        let got = slow.receive::<FetchRequest>(12).responses[0].partitions[0].bytes();
        assert!(got == expected, "deleted {way}, {} bytes came", got.len());
    }
}

/// Reads from where the log starts until `is_over`, and counts what it has seen.
fn read_on(mut client: Client, is_over: &AtomicBool, seen: &AtomicU64) {
    let mut offset = 0;
    while !is_over.load(Ordering::Acquire) {
        let fetched = fetch(&mut client, "t", 0, offset);
        if fetched.error_code == OUT_OF_RANGE {
            offset = list_offset(&mut client, "t", 0, -2).offset;
            continue;
        }
        assert_eq!(fetched.error_code, 0, "at {offset}");
        for record in records_of(&fetched.bytes(), offset) {
            assert_eq!(record.offset, offset, "none is passed over");
            assert!(record.value == Some(Bytes::from(value(offset, 50_000))), "the record at {offset} is another one");
            offset += 1;
            seen.fetch_add(1, Ordering::AcqRel);
        }
    }
}

#[test]
fn readers_of_a_log_that_is_cut_behind_them_see_its_records_or_that_they_are_gone() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("segment.bytes", "400000"), KEPT, DELETED_AT_ONCE]);
    let (is_over, seen) = (AtomicBool::new(false), [0; 3].map(AtomicU64::new));
    std::thread::scope(|scope| {
        for seen in &seen {
            let (reader, is_over) = (broker.client(), &is_over);
            scope.spawn(move || read_on(reader, is_over, seen));
        }
        let mut end = 0;
        // Until each reader has come through a good part of it.
        while end < 400 || seen.iter().any(|seen| seen.load(Ordering::Acquire) < 40) {
            end += 20;
            fill(&mut client, end, 50_000);
            for segment in old_segments(directory.path()) {
                if let Ok(file) = File::open(segment) {
                    evict(&file);
                }
            }
            // Into the middle of a segment, so that a part of one stays.
            delete_below(&mut client, end - 13);
        }
        is_over.store(true, Ordering::Release);
    });
    let start = list_offset(&mut client, "t", 0, -2).offset;
    assert_eq!(fetch(&mut client, "t", 0, start - 1).error_code, OUT_OF_RANGE);
    eventually("the files go", || old_segments(directory.path()).len() <= 3);
}
