//! Fetching: how much, from where, and when the answer comes.

use std::io::Read;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_wire::messages::fetch::FetchPartition;
use pillion_wire::messages::{FetchRequest, FetchResponse};

use crate::support::{
    Client, Fetched, TestBroker, batch, batch_of, create_topic, delete_topic, eventually, fetch, fetch_request,
    list_offset, produce, produce_request, record, records_of, split,
};

fn topic(partitions: i32) -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", partitions, &[]);
    (broker, client)
}

/// A request of partitions 0 to `partitions`, each from its beginning.
fn of_partitions(partitions: i32) -> FetchRequest {
    let mut request = fetch_request("t", 0, 0);
    let first = request.topics[0].partitions.remove(0);
    request.topics[0].partitions =
        (0..partitions).map(|partition| FetchPartition { partition, ..first.clone() }).collect();
    request
}

fn sizes(response: &FetchResponse) -> Vec<usize> {
    response.responses[0].partitions.iter().map(|partition| partition.bytes().len()).collect()
}

#[test]
fn the_first_batch_is_whole_whatever_the_limits() {
    let (_broker, mut client) = topic(1);
    let large = batch(&[&"x".repeat(100_000)]);
    produce(&mut client, "t", 0, large.clone());
    produce(&mut client, "t", 0, batch(&["y"]));
    for (partition_max_bytes, max_bytes) in [(1, i32::MAX), (i32::MAX, 1), (0, 0), (99_999, 99_999)] {
        let mut request = fetch_request("t", 0, 0);
        request.topics[0].partitions[0].partition_max_bytes = partition_max_bytes;
        request.max_bytes = max_bytes;
        let answer = client.call(&request, 12);
        assert_eq!(sizes(&answer), [large.len()], "{partition_max_bytes} {max_bytes}");
    }
}

#[test]
fn records_at_the_end_of_a_closed_segment_do_not_wait_for_more_to_join_them() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("segment.bytes", "200")]);
    let one = batch(&[&"x".repeat(90)]);
    for _ in 0..4 {
        produce(&mut client, "t", 0, one.clone());
    }
    let mut request = fetch_request("t", 0, 0);
    // More than a segment holds; and nobody would wait so long.
    (request.min_bytes, request.max_wait_ms) = (10_000, 3_600_000);
    assert_eq!(sizes(&client.call(&request, 12)), [one.len()]);
}

#[test]
fn an_answer_keeps_to_max_bytes_once_it_has_a_batch() {
    let (_broker, mut client) = topic(3);
    let one = batch(&[&"x".repeat(1_000)]);
    for partition in 0..3 {
        for _ in 0..5 {
            produce(&mut client, "t", partition, one.clone());
        }
    }
    let mut request = of_partitions(3);
    assert_eq!(sizes(&client.call(&request, 12)), [5 * one.len(); 3]);
    request.max_bytes = 1;
    assert_eq!(sizes(&client.call(&request, 12)), [one.len(), 0, 0]);
    for max_bytes in [one.len() + 10, 2 * one.len(), 6 * one.len() + 10, 14 * one.len()] {
        request.max_bytes = max_bytes as i32;
        let answer = client.call(&request, 12);
        let sizes = sizes(&answer);
        assert!(sizes.iter().sum::<usize>() <= max_bytes, "{sizes:?} is over {max_bytes}");
        let whole: usize = answer.responses[0].partitions.iter().map(|partition| split(&partition.bytes()).len()).sum();
        assert!(whole >= max_bytes / one.len() - 1, "{whole} whole batches in {max_bytes} bytes");
    }
}

#[test]
fn an_offset_inside_a_batch_gets_the_whole_batch() {
    let (_broker, mut client) = topic(1);
    let values = ["a", "b", "c", "d"];
    produce(&mut client, "t", 0, batch(&values));
    produce(&mut client, "t", 0, batch(&["e"]));
    for offset in 0..4 {
        let fetched = fetch(&mut client, "t", 0, offset);
        let batches = split(&fetched.bytes());
        assert_eq!(batches.len(), 2, "offset {offset}");
        assert_eq!(batches[0][..8], 0_i64.to_be_bytes(), "offset {offset}");
    }
    assert_eq!(split(&fetch(&mut client, "t", 0, 4).bytes()).len(), 1);
}

#[test]
fn outside_the_log_is_out_of_range_and_its_end_is_not() {
    let (_broker, mut client) = topic(1);
    for (end, more) in [(0, true), (3, false)] {
        for (offset, code) in [(-1, 1), (i64::MIN, 1), (0, 0), (end, 0), (end + 1, 1), (i64::MAX, 1)] {
            let fetched = fetch(&mut client, "t", 0, offset);
            assert_eq!(fetched.error_code, code, "offset {offset} of {end}");
            if code == 0 {
                assert_eq!(
                    (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset),
                    (end, end, 0)
                );
                assert_eq!(fetched.bytes().is_empty(), offset == end);
            }
        }
        if more {
            produce(&mut client, "t", 0, batch(&["a", "b", "c"]));
        }
    }
}

#[test]
fn a_long_poll_is_answered_by_a_later_produce() {
    let (broker, mut client) = topic(2);
    for min_bytes in [1, 140] {
        let before = list_offset(&mut client, "t", 1, -1).offset;
        let mut waiting = broker.client();
        let mut request = of_partitions(2);
        request.topics[0].partitions[0].fetch_offset = 0;
        request.topics[0].partitions[1].fetch_offset = before;
        (request.max_wait_ms, request.min_bytes) = (600_000, min_bytes);
        waiting.send(&request, 12);
        let one = batch(&["x"]);
        assert!(one.len() < 140 && 2 * one.len() >= 140, "one batch is enough for 1 byte, two for 140");
        produce(&mut client, "t", 1, one.clone());
        if min_bytes > 1 {
            produce(&mut client, "t", 1, one.clone());
        }
        let answer = waiting.receive::<FetchRequest>(12);
        let bytes = answer.responses[0].partitions[1].bytes();
        assert!(bytes.len() as i32 >= min_bytes);
        assert_eq!(records_of(&bytes, before)[0].offset, before);
    }
}

#[test]
fn a_long_poll_ends_at_its_deadline_with_what_there_is() {
    let (_broker, mut client) = topic(1);
    let mut request = fetch_request("t", 0, 0);
    (request.max_wait_ms, request.min_bytes) = (120, 1_000_000);
    for there_is_something in [false, true] {
        let began = Instant::now();
        let answer = client.call(&request, 12);
        assert!(began.elapsed() >= Duration::from_millis(120), "it was to wait for more");
        assert_eq!(answer.responses[0].partitions[0].error_code, 0);
        assert_eq!(sizes(&answer)[0] > 0, there_is_something);
        produce(&mut client, "t", 0, batch(&["x"]));
    }
}

#[test]
fn an_error_answers_a_long_poll_at_once() {
    let (_broker, mut client) = topic(1);
    let mut request = of_partitions(2);
    (request.max_wait_ms, request.min_bytes) = (600_000, 1);
    let codes = |answer: FetchResponse| {
        answer.responses[0].partitions.iter().map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    assert_eq!(codes(client.call(&request, 12)), [0, 3]);
    request.topics[0].partitions.remove(1);
    request.topics[0].partitions[0].fetch_offset = 5;
    assert_eq!(codes(client.call(&request, 12)), [1]);
    request.topics.clear();
    assert!(client.call(&request, 12).responses.is_empty(), "nothing is asked for, so nothing is waited for");
}

#[test]
fn a_parked_fetch_of_a_deleted_topic_is_answered_with_an_error() {
    let (broker, mut client) = topic(1);
    create_topic(&mut client, "other", 1, &[]);
    let mut waiting = broker.client();
    let mut request = fetch_request("t", 0, 0);
    request.max_wait_ms = 600_000;
    waiting.send(&request, 12);
    // Handled in order: once this produce has an effect the fetch before it is parked.
    waiting.send(&produce_request("other", 0, batch(&["x"])), 12);
    eventually("the produce", || list_offset(&mut client, "other", 0, -1).offset == 1);
    delete_topic(&mut client, "t");
    let answer = waiting.receive::<FetchRequest>(12);
    assert_eq!(answer.responses[0].partitions[0].error_code, 3);
}

#[test]
fn a_parked_fetch_does_not_hold_up_other_connections() {
    let (broker, mut client) = topic(1);
    let mut request = fetch_request("t", 0, 1_000);
    request.topics[0].partitions[0].fetch_offset = 0;
    request.max_wait_ms = 600_000;
    let mut waiting: Vec<_> = (0..100).map(|_| broker.client()).collect();
    for client in &mut waiting {
        client.send(&request, 12);
    }
    produce(&mut client, "t", 0, batch(&["x"]));
    for client in &mut waiting {
        assert!(sizes(&client.receive::<FetchRequest>(12))[0] > 0, "everyone who waits gets it");
    }
}

/// Batches of these sizes and their bytes as a reader gets them.
fn produce_sizes(client: &mut Client, partition: i32, sizes: &[usize]) -> Bytes {
    let mut expected = Vec::new();
    for (size, number) in sizes.iter().zip(0_u8..) {
        // Bytes that differ from place to place, so that nothing moved goes unnoticed.
        let value: Vec<u8> = (0..*size).map(|place| (place * 7 + place / 251) as u8 ^ number).collect();
        let batch = batch_of(&[record(value, 0)], pillion_wire::records::Compression::None, None);
        let answer = produce(client, "t", partition, batch.clone());
        assert_eq!(answer.error_code, 0);
        expected.extend_from_slice(&answer.base_offset.to_be_bytes());
        expected.extend_from_slice(&batch[8..12]);
        expected.extend_from_slice(&0_i32.to_be_bytes());
        expected.extend_from_slice(&batch[16..]);
    }
    Bytes::from(expected)
}

#[test]
fn large_and_small_parts_of_one_answer_stay_in_their_places() {
    let (_broker, mut client) = topic(5);
    let sizes: [&[usize]; 5] = [&[40_000, 10], &[10], &[300_000, 300_000], &[], &[32_768]];
    let expected: Vec<_> =
        (0..).zip(sizes).map(|(partition, sizes)| produce_sizes(&mut client, partition, sizes)).collect();
    for version in [4, 11, 12] {
        let answer = client.call(&of_partitions(5), version);
        for (partition, expected) in answer.responses[0].partitions.iter().zip(&expected) {
            assert!(partition.bytes() == *expected, "partition {} version {version}", partition.partition_index);
        }
    }
}

#[test]
fn a_slow_reader_of_a_long_backlog_gets_every_byte() {
    const ANSWERS: usize = 6;
    let (broker, mut client) = topic(1);
    let expected = produce_sizes(&mut client, 0, &[700_000; 8]);
    let mut slow = broker.client();
    for _ in 0..ANSWERS {
        slow.send(&fetch_request("t", 0, 0), 12);
    }
    // Nothing is read until all is under way and the sockets' buffers are full; others are served meanwhile.
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 8);
    for _ in 0..ANSWERS {
        let mut length = [0; 4];
        slow.stream().read_exact(&mut length).expect("the answer begins");
        let mut left = u32::from_be_bytes(length) as usize;
        let mut frame = Vec::with_capacity(left);
        let mut piece = [0; 10_000];
        while left > 0 {
            let wanted = piece.len().min(left);
            let read = slow.stream().read(&mut piece[..wanted]).expect("the answer goes on");
            assert_ne!(read, 0, "the answer is cut");
            frame.extend_from_slice(&piece[..read]);
            left -= read;
        }
        assert!(frame.windows(61).any(|window| window == &expected[..61]), "the batches are in the answer");
        let start = frame.len() - expected.len() - 3;
        let at = (start..frame.len()).find(|at| frame[*at..].starts_with(&expected[..61])).expect("near its end");
        assert!(frame[at..].starts_with(&expected), "the backlog arrived changed");
    }
}

#[test]
fn a_topic_is_fetched_by_id_from_version_13() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    let id = create_topic(&mut client, "t", 1, &[]);
    produce(&mut client, "t", 0, batch(&["x"]));
    let mut request = fetch_request("", 0, 0);
    request.topics[0].topic_id = id;
    for version in [13, 15, 17, 18] {
        let answer = client.call(&request, version);
        assert_eq!((answer.responses[0].topic_id, sizes(&answer)[0] > 0), (id, true), "version {version}");
    }
}

#[test]
fn a_parked_fetch_adds_up_what_its_partitions_get() {
    let (broker, mut client) = topic(30);
    let one = batch(&["x"]);
    let mut waiting = broker.client();
    let mut request = of_partitions(30);
    (request.max_wait_ms, request.min_bytes) = (600_000, 20 * one.len() as i32);
    waiting.send(&request, 12);
    for partition in 0..20 {
        produce(&mut client, "t", partition, one.clone());
    }
    let answer = waiting.receive::<FetchRequest>(12);
    let expected: Vec<_> = (0..30).map(|partition| if partition < 20 { one.len() } else { 0 }).collect();
    assert_eq!(sizes(&answer), expected);
}

#[test]
fn the_brokers_own_limit_holds_too() {
    let broker = TestBroker::fresh(&[("fetch.max.bytes", "2000")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    let one = batch(&[&"x".repeat(500)]);
    for _ in 0..10 {
        produce(&mut client, "t", 0, one.clone());
    }
    let mut request = fetch_request("t", 0, 0);
    // More than the broker gives at once is not waited for.
    (request.max_wait_ms, request.min_bytes) = (600_000, 1_000_000);
    assert_eq!(sizes(&client.call(&request, 12)), [2_000]);
}
