//! Producing: where records go, when they are acknowledged, and in which order.

use std::time::Instant;

use pillion_wire::messages::ProduceRequest;
use pillion_wire::records::Compression;

use crate::support::{
    Client, Fetched, PATIENCE, TestBroker, batch, batch_of, create_topic, eventually, fetch, list_offset, produce,
    produce_request, produce_with, read_all, record, split,
};

fn topic(partitions: i32) -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", partitions, &[]);
    (broker, client)
}

fn values(client: &mut Client, partition: i32) -> Vec<String> {
    let records = read_all(client, "t", partition);
    records.iter().map(|record| String::from_utf8_lossy(record.value.as_deref().unwrap_or(b"")).into_owned()).collect()
}

#[test]
fn batches_get_the_next_offsets() {
    let (_broker, mut client) = topic(1);
    for (values, offset) in [(&["a", "b", "c"][..], 0), (&["d"], 3), (&["e", "f"], 4)] {
        let answer = produce(&mut client, "t", 0, batch(values));
        assert_eq!((answer.error_code, answer.base_offset), (0, offset));
        assert_eq!((answer.log_start_offset, answer.log_append_time_ms), (0, -1));
    }
    assert_eq!(values(&mut client, 0), ["a", "b", "c", "d", "e", "f"]);
    let offsets: Vec<_> = read_all(&mut client, "t", 0).iter().map(|record| record.offset).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn pipelined_produces_are_answered_in_order() {
    let (_broker, mut client) = topic(4);
    for number in 0..400 {
        let mut request = produce_request("t", number % 4, batch(&[&number.to_string()]));
        request.acks = [-1, 1][number as usize / 4 % 2];
        client.send(&request, 9);
    }
    for number in 0..400 {
        // `receive` holds the answer's number against the request's.
        let answer = client.receive::<ProduceRequest>(9);
        let partition = &answer.responses[0].partition_responses[0];
        assert_eq!((partition.error_code, partition.index), (0, number % 4));
        assert_eq!(partition.base_offset, i64::from(number / 4));
    }
    for partition in 0..4 {
        let expected: Vec<_> = (0..100).map(|number| (4 * number + partition).to_string()).collect();
        eventually("reading what acks=1 wrote", || list_offset(&mut client, "t", partition, -1).offset == 100);
        assert_eq!(values(&mut client, partition), expected);
    }
}

#[test]
fn whatever_the_acks_records_become_readable_without_anyone_asking() {
    let (broker, mut client) = topic(1);
    let mut reader = broker.client();
    for (acks, offset) in [(0, 0), (1, 1), (-1, 2)] {
        let mut request = produce_request("t", 0, batch(&["x"]));
        request.acks = acks;
        if acks == 0 {
            client.send_unanswered(&request, 9);
        } else {
            assert_eq!(produce_with(&mut client, &request, 9).base_offset, offset);
        }
        let began = Instant::now();
        while fetch(&mut reader, "t", 0, offset).bytes().is_empty() {
            assert!(began.elapsed() < PATIENCE, "acks={acks} is never readable");
        }
        if acks == -1 {
            assert_eq!(list_offset(&mut reader, "t", 0, -1).offset, offset + 1);
        }
    }
}

#[test]
fn what_is_acknowledged_by_all_is_readable_at_once() {
    let (broker, mut client) = topic(1);
    let mut reader = broker.client();
    for number in 0..200 {
        let answer = produce(&mut client, "t", 0, batch(&[&number.to_string()]));
        let fetched = fetch(&mut reader, "t", 0, answer.base_offset);
        assert!(!fetched.bytes().is_empty(), "offset {} is acknowledged and not readable", answer.base_offset);
    }
}

#[test]
fn one_request_reaches_several_partitions_and_topics() {
    let (_broker, mut client) = topic(3);
    create_topic(&mut client, "other", 1, &[]);
    let mut request = produce_request("t", 2, batch(&["c"]));
    request.topic_data[0]
        .partition_data
        .extend(produce_request("t", 0, batch(&["a"])).topic_data.remove(0).partition_data);
    request.topic_data.extend(produce_request("other", 0, batch(&["o", "p"])).topic_data);
    for round in 0..3 {
        let answer = client.call(&request, 11);
        let first: Vec<_> = answer.responses[0]
            .partition_responses
            .iter()
            .map(|partition| (partition.index, partition.error_code, partition.base_offset))
            .collect();
        assert_eq!(first, [(2, 0, round), (0, 0, round)]);
        assert_eq!(answer.responses[1].name, "other");
        assert_eq!(answer.responses[1].partition_responses[0].base_offset, 2 * round);
    }
    assert_eq!(values(&mut client, 1), [""; 0]);
}

#[test]
fn batches_come_back_as_they_were_but_for_base_offset_and_leader_epoch() {
    let (_broker, mut client) = topic(1);
    let codecs = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    let mut sent = Vec::new();
    for codec in codecs {
        let mut records: Vec<_> = (0..20).map(|number| record(format!("value {number}"), 1_000 + number)).collect();
        records[3].key = None;
        records[4].value = None;
        let header = |key: &str, value: Option<&'static [u8]>| pillion_wire::records::RecordHeader {
            key: key.into(),
            value: value.map(bytes::Bytes::from_static),
        };
        records[5].headers = vec![header("h", Some(b"\0\xff")), header("h", None), header("", Some(b""))];
        let batch = batch_of(&records, codec, None);
        assert_eq!(produce(&mut client, "t", 0, batch.clone()).error_code, 0, "{codec:?}");
        sent.push(batch);
    }
    let fetched = split(&fetch(&mut client, "t", 0, 0).bytes());
    assert_eq!(fetched.len(), sent.len());
    for ((fetched, sent), base) in fetched.iter().zip(&sent).zip((0_i64..).step_by(20)) {
        assert_eq!(fetched[..8], base.to_be_bytes());
        assert_eq!(fetched[8..12], sent[8..12]);
        assert_eq!(fetched[12..16], 0_i32.to_be_bytes(), "the first leader epoch is 0");
        assert_eq!(fetched[16..], sent[16..]);
    }
}

#[test]
fn many_producers_of_one_partition_lose_nothing() {
    let (broker, mut client) = topic(1);
    let address = broker.address;
    std::thread::scope(|scope| {
        for producer in 0..6 {
            scope.spawn(move || {
                let mut client = Client::connect(address);
                for number in 0..60 {
                    let answer = produce(&mut client, "t", 0, batch(&[&format!("{producer}-{number}")]));
                    assert_eq!(answer.error_code, 0);
                }
            });
        }
    });
    let mut values = values(&mut client, 0);
    for producer in 0..6 {
        let own: Vec<_> = values.iter().filter(|value| value.starts_with(&format!("{producer}-"))).collect();
        assert!(own.iter().zip(0..).all(|(value, number)| **value == format!("{producer}-{number}")));
    }
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 360);
}
