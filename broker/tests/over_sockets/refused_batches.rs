//! Batches that are not let in, each with the protocol's code for what is wrong.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pillion_wire::records::{Compression, Record};

use crate::support::{
    Client, TestBroker, altered, batch, batch_of, create_topic, fetch, idempotent, list_offset, produce,
    produce_request, produce_with, record,
};

fn topic(configs: &[(&str, &str)]) -> (TestBroker, Client) {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, configs);
    (broker, client)
}

/// Produces in a row on one connection; refusals leave the log and the connection as they were.
#[track_caller]
fn check(client: &mut Client, cases: &[(&str, Option<Bytes>, i16)]) {
    for (what, records, code) in cases {
        let before = list_offset(client, "t", 0, -1).offset;
        let answer = produce(client, "t", 0, records.clone());
        assert_eq!(answer.error_code, *code, "{what}: {:?}", answer.error_message);
        let after = list_offset(client, "t", 0, -1).offset;
        assert_eq!(answer.base_offset, if *code == 0 { before } else { -1 }, "{what}");
        assert_eq!(after > before, *code == 0, "{what}");
        assert_eq!(answer.error_message.is_some(), *code != 0, "{what}");
    }
}

#[test]
fn what_is_not_one_whole_batch_of_format_2_is_refused() {
    let (_broker, mut client) = topic(&[]);
    let good = batch(&["a", "b", "c"]);
    let two = Bytes::from([&good[..], &good].concat());
    let patched = |at: usize, bytes: &[u8]| {
        let mut patched = good.to_vec();
        patched[at..at + bytes.len()].copy_from_slice(bytes);
        Bytes::from(patched)
    };
    let small = |length: i32| Some(patched(8, &length.to_be_bytes()));
    check(
        &mut client,
        &[
            ("no batch", None, 87),
            ("an empty batch", Some(Bytes::new()), 87),
            ("a header cut off", Some(good.slice(..60)), 87),
            ("a few bytes", Some(good.slice(..9)), 87),
            ("records cut off", Some(good.slice(..good.len() - 1)), 87),
            ("two batches", Some(two), 87),
            ("bytes behind the batch", Some(Bytes::from([&good[..], b"x"].concat())), 87),
            ("magic 0", Some(patched(16, &[0])), 87),
            ("magic 1", Some(patched(16, &[1])), 87),
            ("magic 3", Some(patched(16, &[3])), 2),
            ("magic 127", Some(patched(16, &[127])), 2),
            ("length 13", small(13), 2),
            ("length 0", small(0), 2),
            ("length -1", small(-1), 2),
            ("length of less than a header", small(48), 2),
            ("a wrong checksum", Some(patched(17, &[1, 2, 3, 4])), 2),
            ("a flipped bit in the records", Some(patched(good.len() - 1, &[good[good.len() - 1] ^ 1])), 2),
            ("a flipped bit in the header", Some(patched(30, &[good[30] ^ 1])), 2),
            ("the batch itself", Some(good.clone()), 0),
        ],
    );
}

#[test]
fn format_1_messages_are_refused() {
    let (_broker, mut client) = topic(&[]);
    for magic in [0, 1] {
        // Offset, size, checksum, magic, attributes, then a timestamp from format 1 on, a null key and a value.
        let timestamp: &[u8] = if magic == 1 { &[0; 8] } else { &[] };
        let body = [&[magic, 0][..], timestamp, &(-1_i32).to_be_bytes(), &1_i32.to_be_bytes(), b"x"].concat();
        let message = [&[0; 8][..], &(4 + body.len() as u32).to_be_bytes(), &[0; 4], &body].concat();
        assert_eq!(produce(&mut client, "t", 0, Bytes::from(message)).error_code, 87, "magic {magic}");
    }
}

#[test]
fn headers_that_only_brokers_may_write_or_that_contradict_themselves_are_refused() {
    let (_broker, mut client) = topic(&[]);
    let good = batch(&["a", "b", "c"]);
    let of = |batch: &Bytes, at: usize, bytes: &[u8]| Some(altered(batch, at, bytes));
    let sequenced = idempotent(&["a"], 7, 0, 0);
    check(
        &mut client,
        &[
            ("base offset 1", of(&good, 0, &1_i64.to_be_bytes()), 87),
            ("base offset -1", of(&good, 0, &(-1_i64).to_be_bytes()), 87),
            ("count 0", of(&good, 57, &0_i32.to_be_bytes()), 87),
            ("count -1", of(&good, 57, &(-1_i32).to_be_bytes()), 87),
            ("a count below the offsets", of(&good, 57, &2_i32.to_be_bytes()), 87),
            ("a count above the offsets", of(&good, 57, &4_i32.to_be_bytes()), 87),
            ("last offset delta -1", of(&good, 23, &(-1_i32).to_be_bytes()), 87),
            ("last offset delta far away", of(&good, 23, &i32::MAX.to_be_bytes()), 87),
            ("count 0 with last offset delta -1", of(&altered(&good, 57, &[0; 4]), 23, &[0xff; 4]), 87),
            ("a control batch", of(&good, 21, &[0, 0x20]), 87),
            ("codec 5", of(&good, 21, &[0, 5]), 87),
            ("sequence -1 with a producer id", of(&sequenced, 53, &(-1_i32).to_be_bytes()), 87),
            ("epoch -1 with a producer id", of(&sequenced, 51, &(-1_i16).to_be_bytes()), 87),
            ("the batch itself", Some(sequenced), 0),
        ],
    );
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64
}

#[test]
fn timestamps_out_of_range_are_refused() {
    let (_broker, mut client) =
        topic(&[("message.timestamp.before.max.ms", "3600000"), ("message.timestamp.after.max.ms", "3600000")]);
    let now = now_ms();
    let at = |timestamp| Some(batch_of(&[record("x", timestamp)], Compression::None, None));
    check(
        &mut client,
        &[
            ("two hours ahead", at(now + 7_200_000), 32),
            ("two hours behind", at(now - 7_200_000), 32),
            ("the end of time", at(i64::MAX), 32),
            ("below -1", at(-2), 32),
            ("LogAppendTime", Some(altered(&batch(&["x"]), 21, &[0, 8])), 32),
            ("now", at(now), 0),
        ],
    );
}

#[test]
fn a_batch_larger_than_the_topic_or_the_broker_takes_is_refused() {
    let broker = TestBroker::fresh(&[("message.max.bytes", "2000")]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[]);
    create_topic(&mut client, "small", 1, &[("max.message.bytes", "500")]);
    let of_size = |size: usize| {
        let overhead = batch(&[&"x".repeat(size - 200)]).len() - (size - 200);
        let batch = batch(&[&"x".repeat(size - overhead)]);
        assert_eq!(batch.len(), size);
        batch
    };
    for (topic, size, code) in [("t", 2_000, 0), ("t", 2_001, 10), ("small", 500, 0), ("small", 501, 10)] {
        assert_eq!(produce(&mut client, topic, 0, of_size(size)).error_code, code, "{topic} {size}");
    }
}

#[test]
fn keyless_records_on_a_compacted_topic_are_named() {
    let (_broker, mut client) = topic(&[("cleanup.policy", "compact")]);
    let keyless = Record { value: Some(Bytes::from_static(b"v")), ..Record::default() };
    for compression in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
    {
        let records = [record("a", 0), keyless.clone(), record("b", 0), keyless.clone()];
        let answer = produce(&mut client, "t", 0, batch_of(&records, compression, None));
        assert_eq!(answer.error_code, 87, "{compression:?}");
        let named: Vec<_> = answer.record_errors.iter().map(|error| error.batch_index).collect();
        assert_eq!(named, [1, 3], "{compression:?}");
        assert!(answer.record_errors.iter().all(|error| error.batch_index_error_message.is_some()));
        let keyed = batch_of(&[record("a", 0)], compression, None);
        assert_eq!(produce(&mut client, "t", 0, keyed).error_code, 0, "{compression:?}");
    }
}

#[test]
fn a_batch_that_decompresses_without_end_is_refused_where_keys_are_looked_at() {
    let (_broker, mut client) = topic(&[("cleanup.policy", "compact")]);
    let bomb = record(vec![0; 129 << 20], 0);
    let bomb = batch_of(&[bomb], Compression::Zstd, None);
    assert!(bomb.len() < 1 << 20, "the batch itself is small");
    assert_eq!(produce(&mut client, "t", 0, bomb).error_code, 87);
    // Lies about lengths inside: garbage that claims to be of a codec.
    for codec in 1..=4 {
        let garbage = altered(&batch(&[&"x".repeat(500)]), 21, &[0, codec]);
        assert_eq!(produce(&mut client, "t", 0, garbage).error_code, 87, "codec {codec}");
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 0);
}

#[test]
fn zstd_needs_version_7() {
    let (_broker, mut client) = topic(&[]);
    let zstd = batch_of(&[record("x", 0)], Compression::Zstd, None);
    let request = produce_request("t", 0, zstd);
    assert_eq!(produce_with(&mut client, &request, 6).error_code, 76);
    assert_eq!(produce_with(&mut client, &request, 7).error_code, 0);
}

#[test]
fn acks_other_than_none_one_and_all_are_refused() {
    let (_broker, mut client) = topic(&[]);
    for acks in [7, 2, -2] {
        let mut request = produce_request("t", 0, batch(&["x"]));
        request.acks = acks;
        assert_eq!(produce_with(&mut client, &request, 9).error_code, 21, "acks={acks}");
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 0);
}

#[test]
fn an_error_without_acks_closes_the_connection() {
    let (broker, mut client) = topic(&[]);
    let mut request = produce_request("t", 0, altered(&batch(&["x"]), 21, &[0, 0x20]));
    request.acks = 0;
    let mut hostile = broker.client();
    hostile.send_unanswered(&request, 9);
    hostile.expect_closed();
    let mut request = produce_request("missing", 0, batch(&["x"]));
    request.acks = 0;
    let mut hostile = broker.client();
    hostile.send_unanswered(&request, 9);
    hostile.expect_closed();
    assert_eq!(fetch(&mut client, "t", 0, 0).high_watermark, 0);
}

#[test]
fn one_refused_partition_does_not_harm_the_others_of_its_request() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 3, &[]);
    let mut request = produce_request("t", 0, batch(&["a"]));
    let partitions = &mut request.topic_data[0].partition_data;
    partitions.extend(produce_request("t", 1, Bytes::new()).topic_data.remove(0).partition_data);
    partitions.extend(produce_request("t", 2, batch(&["c"])).topic_data.remove(0).partition_data);
    let answer = client.call(&request, 12);
    let codes: Vec<_> = answer.responses[0].partition_responses.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [0, 87, 0]);
}
