//! A data directory that Apache Kafka wrote, served as it is: every batch to the byte, with its topics' ids, settings,
//! offsets by time and committed offsets, and then written on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use pillion_broker::{AdoptionError, RealDisk, StartError};
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsTopic};
use pillion_wire::messages::offset_fetch::OffsetFetchRequestGroup;
use pillion_wire::messages::{DescribeConfigsRequest, ListOffsetsRequest, MetadataRequest, OffsetFetchRequest};
use pillion_wire::records::{BatchHeader, Record, read_batch};
use serde_json::Value;
use uuid::Uuid;

use crate::kafka_fixture::{KafkaFixture, LISTING};
use crate::support::{
    Client, Fetched, TestBroker, batch, config, eventually, fetch, list_offset, metadata, produce, producer_id, split,
};

/// Nothing may be cleaned away or expire while a test looks at it, however old the fixture is.
const SETTINGS: [(&str, &str); 2] = [("log.cleaner.enable", "false"), ("offsets.retention.minutes", "52560000")];

/// What the listing says of a partition.
#[derive(Default)]
struct Listed {
    end_offset: i64,
    last_stable_offset: i64,
    records: Vec<Value>,
}

/// The listing's partitions, by topic and number.
fn listing() -> BTreeMap<(String, i32), Listed> {
    let mut partitions: BTreeMap<_, Listed> = BTreeMap::new();
    let partition = |name: &str| {
        let (topic, index) = name.rsplit_once('-').expect("a topic and a number");
        (topic.to_owned(), index.parse().expect("a number"))
    };
    for line in LISTING.lines() {
        if let Some((name, offsets)) = line.strip_prefix("# ").and_then(|line| line.split_once(": end offset ")) {
            let (end, stable) = offsets.split_once(", last stable offset ").expect("both offsets");
            let listed = partitions.entry(partition(name)).or_default();
            listed.end_offset = end.parse().expect("an offset");
            listed.last_stable_offset = stable.parse().expect("an offset");
        } else if line.starts_with('{') {
            let value: Value = serde_json::from_str(line).expect("JSON");
            let name = value["p"].as_str().expect("a partition").to_owned();
            if value.get("o").is_some() {
                partitions.entry(partition(&name)).or_default().records.push(value);
            }
        }
    }
    assert_eq!(partitions.len(), 12, "all partitions with records of clients");
    partitions
}

/// All batches of a partition as a consumer gets them.
fn fetch_all(client: &mut Client, topic: &str, index: i32) -> Vec<Bytes> {
    let mut batches = Vec::new();
    let mut offset = list_offset(client, topic, index, -2).offset;
    loop {
        let fetched = fetch(client, topic, index, offset);
        assert_eq!(fetched.error_code, 0, "{topic}-{index} at {offset}");
        if offset == fetched.high_watermark {
            return batches;
        }
        batches.extend(split(&fetched.bytes()));
        let last = BatchHeader::parse(batches.last().expect("there is more")).expect("it is a batch");
        assert!(last.next_offset() > offset, "{topic}-{index} goes on from {offset}");
        offset = last.next_offset();
    }
}

/// The partition's segment files one behind the other.
fn segments(data: &Path, topic: &str, index: i32) -> Vec<u8> {
    let entries = fs::read_dir(data.join(format!("{topic}-{index}"))).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
    paths.sort();
    paths.iter().flat_map(|path| fs::read(path).expect("it reads")).collect()
}

fn text(bytes: Option<&Bytes>) -> Value {
    bytes.map_or(Value::Null, |bytes| String::from_utf8_lossy(bytes).into())
}

/// A record as the listing has it.
fn as_listed(record: &Record) -> (Value, Value, Value, Value, Value) {
    let headers = record.headers.iter().map(|header| vec![(*header.key).into(), text(header.value.as_ref())]);
    let headers: Vec<Vec<Value>> = headers.collect();
    let (key, value) = (text(record.key.as_ref()), text(record.value.as_ref()));
    (record.offset.into(), record.timestamp.into(), key, value, headers.into())
}

fn check_records(client: &mut Client, pristine: &Path) {
    for ((topic, index), listed) in listing() {
        let batches = fetch_all(client, &topic, index);
        let expected = segments(pristine, &topic, index);
        assert!(batches.concat() == expected, "{topic}-{index} is not what Kafka wrote, to the byte");
        let data = batches.iter().filter(|batch| !BatchHeader::parse(batch).expect("a batch").is_control());
        let records: Vec<_> = data.flat_map(|batch| read_batch(batch).expect("it reads").1).collect();
        let records: Vec<_> = records.iter().map(as_listed).collect();
        let lines = listed.records.iter().filter(|line| line.get("control").is_none());
        let field = |line: &Value, name: &str| line[name].clone();
        let expected = lines
            .map(|line| (field(line, "o"), field(line, "ts"), field(line, "k"), field(line, "v"), field(line, "h")));
        assert_eq!(records, expected.collect::<Vec<_>>(), "{topic}-{index}");
    }
}

fn check_offsets(client: &mut Client) {
    for ((topic, index), listed) in listing() {
        let latest = list_offset(client, &topic, index, -1);
        assert_eq!((latest.error_code, latest.offset), (0, listed.end_offset), "{topic}-{index}");
        assert_eq!(list_offset(client, &topic, index, -2).offset, 0, "{topic}-{index}");
        let timestamps = || listed.records.iter().filter_map(|line| line["ts"].as_i64());
        for timestamp in timestamps() {
            let first = listed.records.iter().find(|line| line["ts"].as_i64() >= Some(timestamp)).expect("itself");
            let found = list_offset(client, &topic, index, timestamp);
            assert_eq!((Some(found.offset), Some(found.timestamp)), (first["o"].as_i64(), first["ts"].as_i64()));
        }
        let beyond = timestamps().max().map_or(0, |last| last + 1);
        assert_eq!(list_offset(client, &topic, index, beyond).offset, -1, "{topic}-{index}");
    }
}

/// The settings that differ from the broker's, as `key=value`.
fn settings(client: &mut Client, topic: &str) -> Vec<String> {
    let resource_name = topic.to_owned();
    let resource = DescribeConfigsResource { resource_type: 2, resource_name, configuration_keys: None };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    let configs = client.call(&request, 4).results.remove(0).configs;
    let set = configs.into_iter().filter(|config| config.config_source == 1);
    set.map(|config| format!("{}={}", config.name, config.value.unwrap_or_default())).collect()
}

fn check_topics(client: &mut Client) {
    let all = client.call(&MetadataRequest { topics: None, ..MetadataRequest::default() }, 12).topics;
    let topics: Vec<_> =
        all.iter().map(|topic| (topic.name.as_deref().unwrap_or(""), topic.partitions.len())).collect();
    let expected = [
        ("__consumer_offsets", 1),
        ("__transaction_state", 1),
        ("appendtime", 1),
        ("codecs", 5),
        ("compacted", 1),
        ("idempotent", 1),
        ("rolled", 1),
        ("txn", 1),
        ("txn-open", 1),
        ("txn-v2", 1),
    ];
    assert_eq!(topics, expected);
    let id = |name: &str| all.iter().find(|topic| topic.name.as_deref() == Some(name)).map(|topic| topic.topic_id);
    // HjJ4s3wuRJGjSFQaEn4EIA and UVGUqxutQEKkc_BHemDLwA, as Kafka writes them.
    assert_eq!(id("codecs"), Some(Uuid::from_u128(0x1e32_78b3_7c2e_4491_a348_541a_127e_0420)));
    assert_eq!(id("txn"), Some(Uuid::from_u128(0x5151_94ab_1bad_4042_a473_f047_7a60_cbc0)));
    assert!(all.iter().flat_map(|topic| &topic.partitions).all(|partition| partition.leader_epoch >= 2));
    assert_eq!(settings(client, "codecs"), ["retention.ms=-1"]);
    assert_eq!(settings(client, "appendtime"), ["message.timestamp.type=LogAppendTime", "retention.ms=-1"]);
    assert_eq!(settings(client, "rolled"), ["index.interval.bytes=128", "retention.ms=-1", "segment.ms=5000"]);
    let offsets = ["cleanup.policy=compact", "compression.type=producer", "segment.bytes=104857600"];
    assert_eq!(settings(client, "__consumer_offsets"), offsets);
}

/// What the group committed, once its shard is read.
fn committed(client: &mut Client) -> Vec<(String, i32, i64)> {
    let group = OffsetFetchRequestGroup { group_id: "fixture-group".to_owned(), topics: None, ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
    let mut committed = Vec::new();
    eventually("reading the groups", || {
        let answer = client.call(&request, 8).groups.remove(0);
        let topics = answer.topics.iter();
        let offset = |name: &str, index, offset| (name.to_owned(), index, offset);
        committed = topics
            .flat_map(|topic| {
                topic.partitions.iter().map(|one| offset(&topic.name, one.partition_index, one.committed_offset))
            })
            .collect();
        committed.sort();
        answer.error_code == 0
    });
    committed
}

#[test]
fn what_kafka_left_is_served_as_it_is_and_again_after_a_restart() {
    let (fixture, pristine) = (KafkaFixture::unpack(), KafkaFixture::unpack());
    for round in 0..3 {
        let broker = TestBroker::start(&fixture.data(), &SETTINGS);
        let mut client = broker.client();
        check_topics(&mut client);
        check_records(&mut client, &pristine.data());
        check_offsets(&mut client);
        assert_eq!(committed(&mut client), [("codecs".to_owned(), 0, 5), ("txn".to_owned(), 0, 4)]);
        assert!(producer_id(&mut client) >= 1000, "Kafka gave out lower ones");
        if round == 1 { broker.abandon() } else { broker.stop() }
    }
    let meta = String::from_utf8(fixture.read("meta.properties")).expect("it is text");
    for line in
        ["cluster.id=HM7Eh3Zzg3Fjuz_aos_Lrw", "node.id=1", "directory.id=NzFDq14ukJse8xyW_cTyaA", "pillion.format=1"]
    {
        assert!(meta.lines().any(|found| found == line), "{line} in {meta}");
    }
    let metadata_log = fs::read_dir(pristine.data().join("__cluster_metadata-0")).expect("it is there");
    for entry in metadata_log {
        let path = format!("__cluster_metadata-0/{}", entry.expect("an entry").file_name().to_string_lossy());
        assert_eq!(fixture.read(&path), pristine.read(&path), "{path} stays Kafka's");
    }
}

#[test]
fn a_directory_that_kafka_did_not_close_is_taken_over_too() {
    let (fixture, pristine) = (KafkaFixture::unpack(), KafkaFixture::unpack());
    fs::remove_file(fixture.data().join(".kafka_cleanshutdown")).expect("it goes");
    let log = fixture.data().join("idempotent-0/00000000000000000000.log");
    let whole = fs::read(&log).expect("it reads");
    fs::write(&log, [&whole[..], b"a torn batch"].concat()).expect("it is written");
    let broker = TestBroker::start(&fixture.data(), &SETTINGS);
    check_records(&mut broker.client(), &pristine.data());
    broker.stop();
}

#[test]
fn adopted_partitions_are_written_on_in_a_later_epoch() {
    let fixture = KafkaFixture::unpack();
    let broker = TestBroker::start(&fixture.data(), &SETTINGS);
    let mut client = broker.client();
    let answer = produce(&mut client, "codecs", 4, batch(&["new"]));
    assert_eq!((answer.error_code, answer.base_offset), (0, 13));
    broker.abandon();
    let broker = TestBroker::start(&fixture.data(), &SETTINGS);
    let batches = fetch_all(&mut broker.client(), "codecs", 4);
    let header = BatchHeader::parse(batches.last().expect("there are batches")).expect("it is one");
    assert_eq!((header.base_offset, header.leader_epoch >= 2), (13, true), "{header:?}");
}

#[test]
fn adopted_transactions_hold_the_last_stable_offset_back() {
    let fixture = KafkaFixture::unpack();
    let broker = TestBroker::start(&fixture.data(), &SETTINGS);
    let mut client = broker.client();
    for ((topic, index), listed) in listing() {
        let partition =
            ListOffsetsPartition { partition_index: index, timestamp: -1, ..ListOffsetsPartition::default() };
        let topics = vec![ListOffsetsTopic { name: topic.clone(), partitions: vec![partition] }];
        let request =
            ListOffsetsRequest { replica_id: -1, isolation_level: 1, topics, ..ListOffsetsRequest::default() };
        let answer = client.call(&request, 11).topics.remove(0).partitions.remove(0);
        assert_eq!(answer.offset, listed.last_stable_offset, "{topic}-{index}");
    }
}

#[test]
fn folders_that_belong_to_no_whole_topic_are_put_aside() {
    let fixture = KafkaFixture::unpack();
    fs::create_dir(fixture.data().join("stray-0")).expect("it is made");
    fs::remove_dir_all(fixture.data().join("codecs-4")).expect("it goes");
    let broker = TestBroker::start(&fixture.data(), &SETTINGS);
    let mut client = broker.client();
    assert_eq!(metadata(&mut client, &["codecs"]).topics[0].error_code, 3);
    assert_eq!(metadata(&mut client, &["rolled"]).topics[0].error_code, 0);
    for folder in ["stray-0.quarantined", "codecs-0.quarantined", "codecs-3.quarantined", "__cluster_metadata-0"] {
        assert!(fixture.data().join(folder).is_dir(), "{folder}");
    }
}

#[test]
fn a_directory_that_cannot_be_taken_over_is_not_touched() {
    let fixture = KafkaFixture::unpack();
    fs::remove_dir_all(fixture.data().join("__cluster_metadata-0")).expect("it goes");
    let left = || {
        let entries = fs::read_dir(fixture.data()).expect("it is a directory").map(|entry| entry.expect("an entry"));
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != ".lock");
        names.sort();
        (names, fixture.read("meta.properties"))
    };
    let before = left();
    let started = TestBroker::try_start(Arc::new(RealDisk), config(&fixture.data(), &SETTINGS));
    assert!(matches!(started, Err(StartError::Adoption(AdoptionError::NoMetadata(_)))), "it must not start");
    assert_eq!(left(), before);
}
