//! How produced batches are kept: in their topic's codec, with the time their topic wants.

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, BatchProducer, Compression, Record, RecordHeader, TimestampType};

use crate::support::{
    Client, Fetched, TestBroker, batch_of, create_topic, fetch, list_offset, produce, read_all, record, split,
};

const CODECS: [(&str, Compression); 5] = [
    ("uncompressed", Compression::None),
    ("gzip", Compression::Gzip),
    ("snappy", Compression::Snappy),
    ("lz4", Compression::Lz4),
    ("zstd", Compression::Zstd),
];
/// Long ago.
const CREATED: i64 = 1_600_000_000_000;

/// Records of every kind: with and without key, value and headers, and times that go back.
fn records() -> Vec<Record> {
    let headers = vec![
        RecordHeader { key: "traceparent".into(), value: Some(Bytes::from_static(b"00-")) },
        RecordHeader { key: "null".into(), value: None },
    ];
    let whole = |offset: i64| Record { offset, ..record(format!("value {offset} ").repeat(20), CREATED + offset * 7) };
    vec![
        whole(0),
        Record { key: None, ..whole(1) },
        Record { value: None, ..whole(2) },
        Record { headers, timestamp: CREATED - 500, ..whole(3) },
        Record { value: Some(Bytes::new()), ..whole(4) },
    ]
}

fn producer(base_sequence: i32) -> BatchProducer {
    BatchProducer { id: 7, epoch: 0, base_sequence, transactional: false }
}

fn stored_headers(client: &mut Client, topic: &str) -> Vec<BatchHeader> {
    let bytes = fetch(client, topic, 0, 0).bytes();
    split(&bytes).iter().map(|batch| BatchHeader::verify(batch).expect("the checksum is right")).collect()
}

/// The wall clock while `work` ran, in milliseconds.
fn while_running<T>(work: impl FnOnce() -> T) -> (RangeInclusive<i64>, T) {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64;
    let before = now();
    let result = work();
    (before..=now(), result)
}

#[test]
fn batches_are_kept_in_their_topics_codec_and_records_stay_as_they_are() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    for (name, kept) in CODECS {
        create_topic(&mut client, name, 1, &[("compression.type", name)]);
        for (place, (_, sent)) in (0..).zip(CODECS) {
            let batch = batch_of(&records(), sent, Some(producer(place * 5)));
            let answer = produce(&mut client, name, 0, batch.clone());
            assert_eq!((answer.error_code, answer.log_append_time_ms), (0, -1), "{sent:?} to {kept:?}");
            let again = produce(&mut client, name, 0, batch);
            assert_eq!((again.error_code, again.base_offset), (0, answer.base_offset), "a retry is known");
        }
    }
    broker.stop();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    for (name, kept) in CODECS {
        let headers = stored_headers(&mut client, name);
        assert_eq!(headers.len(), CODECS.len());
        for (place, header) in (0..).zip(&headers) {
            assert_eq!(header.compression().expect("is known"), kept, "{name}");
            assert_eq!(header.timestamp_type(), TimestampType::CreateTime);
            let from_producer = (header.producer_id, header.producer_epoch, header.base_sequence);
            assert_eq!(from_producer, (7, 0, place * 5));
            assert_eq!((header.base_timestamp, header.max_timestamp), (CREATED, CREATED + 28));
        }
        let expected = (0..5).flat_map(|batch| records().into_iter().map(move |record| (batch, record)));
        let expected: Vec<_> =
            expected.map(|(batch, record)| Record { offset: batch * 5 + record.offset, ..record }).collect();
        assert_eq!(read_all(&mut client, name, 0), expected, "{name}");
        let next = batch_of(&records(), Compression::None, Some(producer(25)));
        assert_eq!(produce(&mut client, name, 0, next).error_code, 0, "the sequence goes on");
    }
}

#[test]
fn a_topic_without_a_codec_of_its_own_keeps_the_producers_bytes() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("compression.type", "producer")]);
    for (_, sent) in CODECS {
        let batch = batch_of(&records(), sent, None);
        let offset = produce(&mut client, "t", 0, batch.clone()).base_offset;
        let stored = fetch(&mut client, "t", 0, offset).bytes();
        assert_eq!(stored.slice(16..), batch.slice(16..), "{sent:?}");
    }
}

#[test]
fn the_brokers_time_stands_on_every_record_and_in_the_answer() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for compression in ["producer", "zstd"] {
        let configs = [("message.timestamp.type", "LogAppendTime"), ("compression.type", compression)];
        create_topic(&mut client, compression, 1, &configs);
        for (_, sent) in CODECS {
            let batch = batch_of(&records(), sent, None);
            let (running, answer) = while_running(|| produce(&mut client, compression, 0, batch));
            assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
            let time = answer.log_append_time_ms;
            assert!(running.contains(&time), "{time} in {running:?}");
            let header = *stored_headers(&mut client, compression).last().expect("there is one");
            assert_eq!(header.timestamp_type(), TimestampType::LogAppendTime);
            assert_eq!((header.base_timestamp, header.max_timestamp), (CREATED, time));
            let found = list_offset(&mut client, compression, 0, time);
            assert_eq!(found.timestamp, time);
            assert!(found.offset <= answer.base_offset);
        }
        let all = read_all(&mut client, compression, 0);
        assert_eq!(all.len(), 25);
        assert!(all.is_sorted_by_key(|record| record.timestamp) && all[0].timestamp > CREATED + 28);
        assert_eq!(
            list_offset(&mut client, compression, 0, CREATED).offset,
            0,
            "the producer's times are not looked for"
        );
        let tomorrow = all[24].timestamp + 86_400_000;
        assert_eq!(list_offset(&mut client, compression, 0, tomorrow).offset, -1);
        let future = batch_of(&[record("x", tomorrow * 2)], Compression::None, None);
        assert_eq!(produce(&mut client, compression, 0, future).error_code, 0, "whatever the producer's clock says");
    }
}

#[test]
fn what_recompression_makes_too_large_is_refused() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("compression.type", "uncompressed"), ("max.message.bytes", "2000")]);
    let batch_of_size = |size| batch_of(&[record("x".repeat(size), CREATED)], Compression::Zstd, None);
    assert!(batch_of_size(10_000).len() < 300);
    let answer = produce(&mut client, "t", 0, batch_of_size(10_000));
    assert_eq!((answer.error_code, answer.base_offset), (10, -1));
    assert_eq!(produce(&mut client, "t", 0, batch_of_size(1_800)).error_code, 0);
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 1);
}

#[test]
fn a_batch_that_decompresses_without_end_or_to_nonsense_is_refused_where_its_codec_changes() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("compression.type", "lz4")]);
    let bomb = batch_of(&[record(vec![0; 129 << 20], CREATED)], Compression::Zstd, None);
    assert!(bomb.len() < 1 << 20, "the batch itself is small");
    assert_eq!(produce(&mut client, "t", 0, bomb).error_code, 87);
    let plain = batch_of(&records(), Compression::None, None);
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Zstd] {
        let header = BatchHeader::parse(&plain).expect("parses").with_compression(codec);
        let (_, garbage) = header.seal(&plain[pillion_wire::records::HEADER_BYTES..]);
        assert_eq!(produce(&mut client, "t", 0, garbage).error_code, 87, "{codec:?}");
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 0);
}

#[test]
fn records_too_old_are_named_whatever_the_batchs_newest_is() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("message.timestamp.before.max.ms", "3600000")]);
    let (running, ()) = while_running(|| ());
    let now = *running.start();
    for (_, codec) in CODECS {
        let records = [now, now - 7_200_000, now - 1, 0].map(|timestamp| record("x", timestamp));
        let answer = produce(&mut client, "t", 0, batch_of(&records, codec, None));
        let named: Vec<_> = answer.record_errors.iter().map(|error| error.batch_index).collect();
        assert_eq!((answer.error_code, named), (32, vec![1, 3]), "{codec:?}");
    }
    let fresh = [now, now - 3_000_000, -1].map(|timestamp| record("x", timestamp));
    assert_eq!(produce(&mut client, "t", 0, batch_of(&fresh, Compression::Gzip, None)).error_code, 0);
}
