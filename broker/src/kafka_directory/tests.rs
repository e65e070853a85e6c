use std::fs;

use bytes::Bytes;
use pillion_wire::records::{BatchBuilder, Compression, Record};
use pillion_wire::{Message, Writer};

use super::record::{
    ConfigRecord, KafkaTopicRecord, MetadataRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, decode,
};
use super::*;
use crate::data_directory::base64;
use crate::disk::RealDisk;
use crate::kafka_fixture::KafkaFixture;

const NODE: i32 = 1;
const SNAPSHOT: &str = "00000000000000000000-0000000000.checkpoint";
const SEGMENT: &str = "00000000000000000000.log";

fn adopt(fixture: &KafkaFixture) -> Result<Option<Adoption>, AdoptionError> {
    find(&RealDisk, &fixture.data(), NODE, &TopicValues::default())
}

fn adopted(fixture: &KafkaFixture) -> Adoption {
    adopt(fixture).expect("it can be taken over").expect("it is Kafka's")
}

fn names(adoption: &Adoption) -> Vec<&str> {
    let mut names: Vec<_> = adoption.topics.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

const TOPICS: [&str; 10] = [
    "__consumer_offsets",
    "__transaction_state",
    "appendtime",
    "codecs",
    "compacted",
    "idempotent",
    "rolled",
    "txn",
    "txn-open",
    "txn-v2",
];

#[test]
fn everything_that_kafka_knew_is_taken_over() {
    let adoption = adopted(&KafkaFixture::unpack());
    assert_eq!(names(&adoption), TOPICS);
    let topic = |wanted: &str| &adoption.topics.iter().find(|(name, _)| name == wanted).expect("it is there").1;
    assert_eq!((base64(topic("codecs").topic_id).as_str(), topic("codecs").partitions), ("HjJ4s3wuRJGjSFQaEn4EIA", 5));
    assert_eq!((base64(topic("txn").topic_id).as_str(), topic("txn").partitions), ("UVGUqxutQEKkc_BHemDLwA", 1));
    let settings = |name: &str| {
        let configs = topic(name).configs.iter();
        configs.map(|config| format!("{}={}", config.name, config.value)).collect::<Vec<_>>()
    };
    let compacted = [
        "cleanup.policy=compact",
        "delete.retention.ms=86400000",
        "message.timestamp.type=CreateTime",
        "min.cleanable.dirty.ratio=0.0",
        "segment.ms=1500",
    ];
    assert_eq!(settings("compacted"), compacted);
    assert_eq!(settings("appendtime"), ["message.timestamp.type=LogAppendTime", "retention.ms=-1"]);
    assert_eq!(adoption.next_producer_id, 1000);
    assert_eq!(adoption.leader_epoch, 2, "Kafka's last was 1, when its shutdown left the partitions without a leader");
}

#[test]
fn a_topic_that_is_not_whole_is_left_out() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("a folder is missing", |data| fs::remove_dir_all(data.join("codecs-3")).expect("it goes")),
        ("an id is missing", |data| fs::remove_file(data.join("codecs-3/partition.metadata")).expect("it goes")),
        ("an id is unreadable", |data| {
            fs::write(data.join("codecs-3/partition.metadata"), "?").expect("it is written")
        }),
        ("a folder is another topic's", |data| {
            fs::copy(data.join("txn-0/partition.metadata"), data.join("codecs-3/partition.metadata")).expect("copies");
        }),
    ];
    for (what, damage) in damages {
        let fixture = KafkaFixture::unpack();
        damage(&fixture.data());
        let left = names(&adopted(&fixture)).len();
        assert!(!names(&adopted(&fixture)).contains(&"codecs"), "{what}");
        assert_eq!(left, TOPICS.len() - 1, "{what}");
    }
}

#[test]
fn partitions_without_metadata_are_refused() {
    let fixture = KafkaFixture::unpack();
    fs::remove_dir_all(fixture.data().join(METADATA_DIRECTORY)).expect("it goes");
    assert!(matches!(adopt(&fixture), Err(AdoptionError::NoMetadata(_))));
    fs::create_dir(fixture.data().join(METADATA_DIRECTORY)).expect("it is made");
    assert!(matches!(adopt(&fixture), Err(AdoptionError::NoMetadata(_))));
}

#[test]
fn a_directory_of_nobody_is_not_taken_over() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let found = find(&RealDisk, directory.path(), NODE, &TopicValues::default()).expect("it reads");
    assert_eq!(found, None);
}

#[test]
fn one_of_several_nodes_is_refused() {
    let fixture = KafkaFixture::unpack();
    let found = find(&RealDisk, &fixture.data(), 2, &TopicValues::default());
    assert!(matches!(found, Err(AdoptionError::PartOfCluster { node_id: 2, .. })), "{found:?}");
}

#[test]
fn metadata_cut_anywhere_in_its_last_batch_is_read_up_to_there() {
    let fixture = KafkaFixture::unpack();
    let path = fixture.data().join(METADATA_DIRECTORY).join(SEGMENT);
    let whole = fs::read(&path).expect("it reads");
    // The last batch holds one record that says nothing.
    let last = whole.len() - 72;
    for length in last..whole.len() {
        fs::write(&path, &whole[..length]).expect("it is written");
        assert_eq!(names(&adopted(&fixture)), TOPICS, "{length} bytes");
    }
}

#[test]
fn a_damaged_snapshot_or_a_gap_is_refused() {
    let fixture = KafkaFixture::unpack();
    let directory = fixture.data().join(METADATA_DIRECTORY);
    let snapshot = fs::read(directory.join(SNAPSHOT)).expect("it reads");
    fs::remove_file(directory.join(SNAPSHOT)).expect("it goes");
    for at in [20, 70, 200] {
        let mut damaged = snapshot.clone();
        damaged[at] ^= 1;
        fs::write(directory.join(SNAPSHOT), damaged).expect("it is written");
        assert!(matches!(adopt(&fixture), Err(AdoptionError::Damaged { source: Some(_), .. })), "byte {at}");
    }
    fs::write(directory.join(SNAPSHOT), snapshot).expect("it is written");
    fs::rename(directory.join(SEGMENT), directory.join("00000000000000000007.log")).expect("it is renamed");
    assert!(matches!(adopt(&fixture), Err(AdoptionError::Damaged { source: None, .. })));
}

#[test]
fn records_below_the_snapshot_are_not_applied_again() {
    let fixture = KafkaFixture::unpack();
    let directory = fixture.data().join(METADATA_DIRECTORY);
    // A snapshot from when there was nothing but a topic that the log does not know.
    let topic = KafkaTopicRecord { name: "other".to_owned(), topic_id: Uuid::from_u128(1) };
    let mut snapshot = BatchBuilder::new(Compression::None);
    snapshot.push(&Record { value: Some(framed(2, 0, &topic)), ..Record::default() });
    fs::write(directory.join("00000000000000000115-0000000001.checkpoint"), snapshot.build(None).expect("it builds"))
        .expect("it is written");
    assert_eq!(names(&adopted(&fixture)), ["__consumer_offsets"], "offset 115 is where that topic was made");
}

/// A record's value as Kafka frames it.
fn framed<M: Message>(kind: u32, version: i16, record: &M) -> Bytes {
    let mut writer = Writer::new();
    [1, kind, version as u32].into_iter().for_each(|number| writer.put_unsigned_varint(number));
    record.write(&mut writer, version).expect("it encodes");
    writer.into_bytes()
}

#[test]
fn records_are_read_in_every_version_kafka_writes() {
    let partition = PartitionRecord { partition_id: 3, replicas: vec![1, 2], leader_epoch: 7, ..Default::default() };
    for version in PartitionRecord::VERSIONS {
        assert_eq!(decode(&framed(3, version, &partition)), Ok(MetadataRecord::Partition(partition.clone())));
    }
    // As Kafka wrote it: ISR, leader and both kinds of eligible replicas are tagged fields, in version 2.
    let change = "01050200000000ac8a9612ebff4948b4d066b0a7f9407e040001010104ffffffff06050200000001\
                  07050200000001";
    let bytes = (0..change.len()).step_by(2).map(|at| u8::from_str_radix(&change[at..at + 2], 16).expect("hex"));
    let bytes: Bytes = bytes.collect();
    let decoded = decode(&bytes);
    assert!(
        matches!(decoded, Ok(MetadataRecord::PartitionChange(PartitionChangeRecord { leader: -1, .. }))),
        "{decoded:?}"
    );
    let unknown = framed(2, 0, &KafkaTopicRecord::default());
    let newer = [&unknown[..2], &[9], &unknown[3..]].concat();
    assert_eq!(decode(&newer.into()), Err(MetadataRecordError::Version { kind: 2, version: 9 }));
    assert_eq!(decode(&Bytes::from_static(&[2, 0, 0])), Err(MetadataRecordError::Version { kind: -1, version: 2 }));
    assert_eq!(decode(&Bytes::from_static(&[1, 99, 99, 1, 2, 3])), Ok(MetadataRecord::Other));
    for length in 0..unknown.len() {
        assert!(decode(&unknown.slice(..length)).is_err(), "{length} bytes");
    }
}

fn topic(name: &str, id: u128) -> MetadataRecord {
    MetadataRecord::Topic(KafkaTopicRecord { name: name.to_owned(), topic_id: Uuid::from_u128(id) })
}

fn setting(value: Option<&str>) -> MetadataRecord {
    let (resource_name, name) = ("t".to_owned(), "retention.ms".to_owned());
    MetadataRecord::Config(ConfigRecord { resource_type: 2, resource_name, name, value: value.map(str::to_owned) })
}

fn image(records: impl IntoIterator<Item = MetadataRecord>) -> ClusterImage {
    let mut image = ClusterImage::default();
    records.into_iter().for_each(|record| image.apply(record));
    image
}

#[test]
fn a_topic_made_again_has_nothing_of_the_old_one() {
    let removed = MetadataRecord::RemoveTopic(RemoveTopicRecord { topic_id: Uuid::from_u128(1) });
    let image = image([topic("t", 1), setting(Some("5")), removed, topic("t", 2)]);
    assert_eq!(image.topics.keys().copied().collect::<Vec<_>>(), [Uuid::from_u128(2)]);
    assert_eq!(image.settings(RESOURCE_TOPIC, "t").count(), 0);
}

#[test]
fn a_setting_taken_back_is_not_set() {
    let image = image([topic("t", 1), setting(Some("5")), setting(None)]);
    assert_eq!(image.settings(RESOURCE_TOPIC, "t").count(), 0);
}

#[test]
fn only_transactions_that_ended_count() {
    use MetadataRecord::{AbortTransaction, BeginTransaction, EndTransaction};
    let records = [BeginTransaction, topic("t", 1), EndTransaction, BeginTransaction, topic("u", 2), AbortTransaction];
    let image = image(records.into_iter().chain([topic("v", 3), BeginTransaction, topic("w", 4)]));
    let names: Vec<_> = image.topics.values().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["t", "v"]);
}

#[test]
fn settings_made_for_all_topics_at_run_time_become_each_topics_own() {
    let record = |resource_name: &str, name: &str, value: &str| {
        let (resource_name, name) = (resource_name.to_owned(), name.to_owned());
        let value = Some(value.to_owned());
        MetadataRecord::Config(ConfigRecord { resource_type: RESOURCE_BROKER, resource_name, name, value })
    };
    let id = Uuid::from_u128(1);
    let image = image([
        topic("t", 1),
        setting(Some("5")),
        record("", "log.retention.ms", "-1"),
        record("", "log.retention.bytes", "7"),
        record("1", "log.retention.bytes", "9"),
        record("", "log.segment.bytes", "1073741824"),
    ]);
    let (root, defaults) = (Path::new("/none"), TopicValues::default());
    let folders = BTreeSet::new();
    let directory = Directory { disk: &RealDisk, root, node_id: NODE, folders, image: &image, defaults: &defaults };
    let settings = directory.settings_of(&image.topics[&id]);
    let settings: Vec<_> = settings.iter().map(|entry| format!("{}={}", entry.name, entry.value)).collect();
    assert_eq!(settings, ["retention.ms=5", "retention.bytes=9"], "the topic's own wins, the default is not repeated");
}
