//! The life of a log: segments roll, old ones go by size and age, compaction keeps the latest of a key.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pillion_wire::messages::IncrementalAlterConfigsRequest;
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::records::{Compression, Record};

use crate::support::{Client, TestBroker, batch_of, create_topic, eventually, list_offset, produce, read_all, record};

/// Rounds of maintenance as often as a test can bear.
const OFTEN: [(&str, &str); 3] = [
    ("log.retention.check.interval.ms", "20"),
    ("log.cleaner.backoff.ms", "20"),
    ("log.flush.offset.checkpoint.interval.ms", "20"),
];

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_millis() as i64
}

/// Names of a partition's files that end so, in order.
fn files(directory: &Path, partition: &str, end: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory.join(partition)).expect("the partition has a directory");
    let names = entries.map(|entry| entry.expect("reads").file_name().into_string().expect("is text"));
    let mut names: Vec<_> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

fn set(client: &mut Client, topic: &str, name: &str, value: &str) {
    let config = AlterableConfig { name: name.to_owned(), config_operation: 0, value: Some(value.to_owned()) };
    let resource = AlterConfigsResource { resource_type: 2, resource_name: topic.to_owned(), configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    assert_eq!(client.call(&request, 1).responses[0].error_code, 0);
}

/// Produces records of 1,000 bytes, one a batch, from `first` on.
fn fill(client: &mut Client, topic: &str, first: i64, count: i64, timestamp: i64) {
    for number in first..first + count {
        let mut value = format!("{number} ").into_bytes();
        value.resize(1_000, b'.');
        let batch = batch_of(&[record(value, timestamp)], Compression::None, None);
        assert_eq!(produce(client, topic, 0, batch).base_offset, number);
    }
}

fn keyed(key: &str, value: Option<&str>) -> Bytes {
    let value = value.map(|value| Bytes::from(format!("{value}{}", "-".repeat(400))));
    let record = Record { key: Some(Bytes::from(key.to_owned())), value, timestamp: now_ms(), ..Record::default() };
    batch_of(&[record], Compression::None, None)
}

#[test]
fn segments_roll_at_a_size_that_people_learn_with_and_at_the_smallest() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "small", 1, &[("segment.bytes", "10000")]);
    fill(&mut client, "small", 0, 30, now_ms());
    let segments = files(directory.path(), "small-0", ".log");
    assert_eq!(
        segments,
        [
            "00000000000000000000.log",
            "00000000000000000009.log",
            "00000000000000000018.log",
            "00000000000000000027.log"
        ]
    );
    for sealed in &segments[..3] {
        let length = directory.path().join("small-0").join(sealed).metadata().expect("is there").len();
        assert!((9_000..=10_000).contains(&length), "{sealed} has {length} bytes");
    }
    create_topic(&mut client, "least", 1, &[("segment.bytes", "14")]);
    fill(&mut client, "least", 0, 20, now_ms());
    assert_eq!(files(directory.path(), "least-0", ".log").len(), 20, "a batch a segment");
    assert_eq!((read_all(&mut client, "small", 0).len(), read_all(&mut client, "least", 0).len()), (30, 20));
    broker.stop();
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    fill(&mut client, "small", 30, 5, now_ms());
    assert_eq!((read_all(&mut client, "small", 0).len(), read_all(&mut client, "least", 0).len()), (35, 20));
}

#[test]
fn a_segment_rolls_when_its_records_span_segment_ms() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &[]);
    let mut client = broker.client();
    create_topic(&mut client, "t", 1, &[("segment.ms", "1000")]);
    let start = now_ms() - 100_000;
    for (number, age) in [0, 900, 1_001, 1_900, 2_002].into_iter().enumerate() {
        fill(&mut client, "t", number as i64, 1, start + age);
    }
    assert_eq!(
        files(directory.path(), "t-0", ".log"),
        ["00000000000000000000.log", "00000000000000000002.log", "00000000000000000004.log"]
    );
}

#[test]
fn old_segments_go_by_size_once_that_is_set_and_stay_gone() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    let configs = [("segment.bytes", "5000"), ("file.delete.delay.ms", "0")];
    create_topic(&mut client, "t", 1, &configs);
    fill(&mut client, "t", 0, 40, now_ms());
    assert_eq!(list_offset(&mut client, "t", 0, -2).offset, 0);
    set(&mut client, "t", "retention.bytes", "12000");
    eventually("old segments are deleted", || list_offset(&mut client, "t", 0, -2).offset >= 24);
    let start = list_offset(&mut client, "t", 0, -2).offset;
    assert!(start <= 28, "no more goes than must: the log starts at {start}");
    eventually("their files are gone", || {
        files(directory.path(), "t-0", ".log")[0] == format!("{start:020}.log")
            && files(directory.path(), "t-0", ".deleted").is_empty()
    });
    assert_eq!(read_all(&mut client, "t", 0).len() as i64, 40 - start);
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    assert_eq!(list_offset(&mut client, "t", 0, -2).offset, start);
    fill(&mut client, "t", 40, 1, now_ms());
}

#[test]
fn segments_go_once_their_youngest_record_is_old_but_never_the_active_one() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    let hour = 3_600_000;
    create_topic(
        &mut client,
        "t",
        1,
        &[("segment.bytes", "5000"), ("retention.ms", "-1"), ("segment.ms", "999999999999")],
    );
    fill(&mut client, "t", 0, 6, now_ms() - 3 * hour);
    fill(&mut client, "t", 6, 1, now_ms());
    fill(&mut client, "t", 7, 8, now_ms() - 3 * hour);
    set(&mut client, "t", "retention.ms", &hour.to_string());
    // The second segment holds a young record, and what is behind it stays with it.
    eventually("the first segment is deleted", || list_offset(&mut client, "t", 0, -2).offset == 4);
    set(&mut client, "t", "retention.ms", "1");
    eventually("all but the active one are", || list_offset(&mut client, "t", 0, -2).offset == 12);
    assert_eq!(read_all(&mut client, "t", 0).len(), 3);
}

/// The latest value of each key, without its padding; tombstones as none.
fn latest(client: &mut Client, topic: &str) -> (usize, BTreeMap<String, Option<String>>) {
    let records = read_all(client, topic, 0);
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).trim_end_matches('-').to_owned();
    let entries = records
        .iter()
        .map(|record| (record.key.as_ref().map(text).unwrap_or_default(), record.value.as_ref().map(text)));
    (records.len(), entries.collect())
}

#[test]
fn compaction_keeps_the_latest_of_each_key_under_readers_and_restarts() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    let configs = [
        ("cleanup.policy", "compact"),
        ("segment.bytes", "5000"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("delete.retention.ms", "0"),
        ("file.delete.delay.ms", "0"),
    ];
    create_topic(&mut client, "t", 1, &configs);
    let mut expected = BTreeMap::new();
    let write = |client: &mut Client, expected: &mut BTreeMap<_, _>, rounds: std::ops::Range<i64>| {
        for round in rounds {
            for key in ["a", "b", "c", "d"] {
                let value = (key != "d" || round % 2 == 0).then(|| format!("{key}{round}"));
                assert_eq!(produce(client, "t", 0, keyed(key, value.as_deref())).error_code, 0);
                expected.insert(key.to_owned(), value);
            }
        }
    };
    write(&mut client, &mut expected, 0..100);
    eventually("the log is compacted", || latest(&mut client, "t").0 < 40);
    let check = |client: &mut Client, expected: &BTreeMap<String, Option<String>>| {
        let (_, found) = latest(client, "t");
        // A tombstone may be gone with its key.
        let without_tombstones = |map: &BTreeMap<String, Option<String>>| -> BTreeMap<_, _> {
            map.iter().filter(|(_, value)| value.is_some()).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        assert_eq!(without_tombstones(&found), without_tombstones(expected));
    };
    check(&mut client, &expected);
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 400, "offsets stay as they were");
    broker.abandon();
    let broker = TestBroker::start(directory.path(), &OFTEN);
    let mut client = broker.client();
    check(&mut client, &expected);
    write(&mut client, &mut expected, 100..160);
    eventually("the log is compacted again", || latest(&mut client, "t").0 < 40);
    check(&mut client, &expected);
    broker.stop();
    let broker = TestBroker::start(directory.path(), &[]);
    check(&mut broker.client(), &expected);
}
