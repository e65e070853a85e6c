//! Topics and settings changed on a disk that is full, or that fails once: a change is made whole or refused whole, the
//! refusal says why, and there is a way on. A restart finds what was answered.

use std::path::Path;
use std::sync::Arc;

use pillion_broker::SimulatedDisk;
use pillion_wire::messages::create_partitions::CreatePartitionsTopic;
use pillion_wire::messages::create_topics::CreatableTopic;
use pillion_wire::messages::delete_records::{DeleteRecordsPartition, DeleteRecordsTopic};
use pillion_wire::messages::describe_configs::DescribeConfigsResource;
use pillion_wire::messages::incremental_alter_configs::{AlterConfigsResource, AlterableConfig};
use pillion_wire::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
};

use crate::support::{Client, TestBroker, batch, config, create_topic, list_offset, metadata, produce, read_all};

const STORAGE_ERROR: i16 = 56;

/// A change, and how to see whether it was made.
struct Change {
    name: &'static str,
    make: fn(&mut Client) -> (i16, Option<String>),
    is_made: fn(&mut Client) -> bool,
}

const CHANGES: [Change; 6] = [
    Change { name: "a topic is made", make: create, is_made: |client| partitions(client, "new") == Ok(3) },
    Change { name: "partitions are added", make: add_partitions, is_made: |client| partitions(client, "t") == Ok(4) },
    Change { name: "a topic is deleted", make: delete, is_made: |client| partitions(client, "t") == Err(3) },
    Change {
        name: "records are deleted",
        make: delete_records,
        is_made: |client| list_offset(client, "t", 0, -2).offset == 1,
    },
    Change {
        name: "a topic's setting is changed",
        make: |client| set(client, 2, "t", "retention.ms"),
        is_made: |client| retention(client, "t") == "1234" && retention(client, "other") != "1234",
    },
    Change {
        name: "a setting of all brokers is changed",
        make: |client| set(client, 4, "", "log.retention.ms"),
        is_made: |client| retention(client, "t") == "1234" && retention(client, "other") == "1234",
    },
];

fn create(client: &mut Client) -> (i16, Option<String>) {
    let topic =
        CreatableTopic { name: "new".to_owned(), num_partitions: 3, replication_factor: 1, ..Default::default() };
    let answer = client.call(&CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() }, 7);
    (answer.topics[0].error_code, answer.topics[0].error_message.clone())
}

fn add_partitions(client: &mut Client) -> (i16, Option<String>) {
    let topics = vec![CreatePartitionsTopic { name: "t".to_owned(), count: 4, assignments: None }];
    let answer = client.call(&CreatePartitionsRequest { topics, timeout_ms: 1_000, validate_only: false }, 3);
    (answer.results[0].error_code, answer.results[0].error_message.clone())
}

fn delete(client: &mut Client) -> (i16, Option<String>) {
    let request = DeleteTopicsRequest { topic_names: vec!["t".to_owned()], ..DeleteTopicsRequest::default() };
    let answer = client.call(&request, 5);
    (answer.responses[0].error_code, answer.responses[0].error_message.clone())
}

fn delete_records(client: &mut Client) -> (i16, Option<String>) {
    let partitions = vec![DeleteRecordsPartition { partition_index: 0, offset: 1 }];
    let topics = vec![DeleteRecordsTopic { name: "t".to_owned(), partitions }];
    let answer = client.call(&DeleteRecordsRequest { topics, timeout_ms: 1_000 }, 2);
    (answer.topics[0].partitions[0].error_code, None)
}

fn set(client: &mut Client, resource_type: i8, name: &str, key: &str) -> (i16, Option<String>) {
    let config = AlterableConfig { name: key.to_owned(), config_operation: 0, value: Some("1234".to_owned()) };
    let resource = AlterConfigsResource { resource_type, resource_name: name.to_owned(), configs: vec![config] };
    let request = IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    let answer = client.call(&request, 1);
    (answer.responses[0].error_code, answer.responses[0].error_message.clone())
}

/// How many partitions a topic has, or why it has none.
fn partitions(client: &mut Client, topic: &str) -> Result<usize, i16> {
    let topic = metadata(client, &[topic]).topics.remove(0);
    if topic.error_code == 0 { Ok(topic.partitions.len()) } else { Err(topic.error_code) }
}

/// `retention.ms` of a topic as it is in force.
fn retention(client: &mut Client, topic: &str) -> String {
    let configuration_keys = Some(vec!["retention.ms".to_owned()]);
    let resource = DescribeConfigsResource { resource_type: 2, resource_name: topic.to_owned(), configuration_keys };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    let described = client.call(&request, 4).results.remove(0);
    described.configs.into_iter().next().and_then(|config| config.value).unwrap_or_default()
}

fn start(disk: &SimulatedDisk) -> TestBroker {
    TestBroker::try_start(Arc::new(disk.clone()), config(Path::new("/data"), &[])).expect("the broker starts")
}

/// A broker with a record in each of two topics.
fn two_topics() -> (SimulatedDisk, TestBroker, Client) {
    let disk = SimulatedDisk::new();
    let broker = start(&disk);
    let mut client = broker.client();
    for topic in ["t", "other"] {
        create_topic(&mut client, topic, 1, &[]);
        assert_eq!(produce(&mut client, topic, 0, batch(&["before", "before"])).error_code, 0);
    }
    (disk, broker, client)
}

/// Records are where they were, and more can be written, but to what was deleted.
fn check_records(client: &mut Client, change: &Change) {
    let is_deleted = partitions(client, "t").is_err();
    for topic in ["t", "other"].into_iter().filter(|topic| !is_deleted || *topic != "t") {
        let records = read_all(client, topic, 0);
        assert_eq!(records[0].value.as_deref(), Some(b"before".as_slice()), "{}", change.name);
        let end = records[0].offset + records.len() as i64;
        let answer = produce(client, topic, 0, batch(&["after"]));
        assert_eq!((answer.error_code, answer.base_offset), (0, end), "{}", change.name);
    }
}

/// A topic made in the place of a deleted one has nothing of it.
fn check_successor(client: &mut Client) {
    create_topic(client, "t", 1, &[]);
    assert_eq!((list_offset(client, "t", 0, -2).offset, list_offset(client, "t", 0, -1).offset), (0, 0));
    assert_eq!(produce(client, "t", 0, batch(&["before"])).base_offset, 0);
}

/// After a power cut the broker finds what was answered.
fn check_restart(disk: &SimulatedDisk, broker: TestBroker, change: &Change, is_made: bool, seed: u64) {
    disk.crash(seed);
    broker.abandon();
    let broker = start(disk);
    let mut client = broker.client();
    assert_eq!((change.is_made)(&mut client), is_made, "{} as answered, after a power cut, seed {seed}", change.name);
    check_records(&mut client, change);
}

#[test]
fn on_a_full_disk_a_change_is_refused_with_the_reason_and_made_once_there_is_room() {
    for change in &CHANGES {
        for seed in 0..2 {
            let (disk, broker, mut client) = two_topics();
            disk.fail_writes(true);
            for _ in 0..2 {
                let (code, message) = (change.make)(&mut client);
                assert_eq!(code, STORAGE_ERROR, "{}: {message:?}", change.name);
                let says_why = message.is_some_and(|message| message.contains("make room on the broker's disk"));
                // The answer about deleted records has no place for words.
                assert_eq!(says_why, change.name != "records are deleted", "{}", change.name);
                assert!(!(change.is_made)(&mut client), "{}", change.name);
                assert_eq!(read_all(&mut client, "t", 0).len(), 2, "what is there is served");
            }
            disk.fail_writes(false);
            if seed == 0 {
                check_restart(&disk, broker, change, false, seed);
                continue;
            }
            assert_eq!((change.make)(&mut client), (0, None), "{}", change.name);
            assert!((change.is_made)(&mut client), "{}", change.name);
            check_records(&mut client, change);
            check_restart(&disk, broker, change, true, seed);
        }
    }
}

#[test]
fn with_little_room_left_a_change_is_made_or_refused_and_a_restart_says_the_same() {
    for change in &CHANGES {
        let mut outcomes = [false; 2];
        for (seed, room) in [0, 10, 100, 200, 400, 1_000, 4_000, 20_000, 70_000, 200_000].into_iter().enumerate() {
            let (disk, broker, mut client) = two_topics();
            disk.fill_after(room);
            let (code, message) = (change.make)(&mut client);
            assert!([0, STORAGE_ERROR].contains(&code), "{} with {room} bytes left: {code} {message:?}", change.name);
            assert_eq!((change.is_made)(&mut client), code == 0, "{} with {room} bytes left", change.name);
            disk.set_capacity(1 << 40);
            check_records(&mut client, change);
            outcomes[usize::from(code == 0)] = true;
            check_restart(&disk, broker, change, code == 0, seed as u64);
        }
        assert!(outcomes[1], "{} needs no more room than that", change.name);
    }
}

#[test]
fn whichever_operation_of_the_disk_fails_a_change_is_made_or_refused_and_a_restart_says_the_same() {
    for change in &CHANGES {
        let mut refused = 0;
        for number in 1..100 {
            let (disk, broker, mut client) = two_topics();
            let failing = disk.operations() + number;
            disk.fail_nth_operation(failing);
            let (code, message) = (change.make)(&mut client);
            let is_reached = disk.operations() >= failing;
            disk.fail_nth_operation(0);
            assert!([0, STORAGE_ERROR].contains(&code), "{}, operation {number}: {code} {message:?}", change.name);
            assert_eq!((change.is_made)(&mut client), code == 0, "{}, operation {number}", change.name);
            refused += usize::from(code != 0);
            if change.name == "a topic is deleted" && code == 0 {
                check_successor(&mut client);
                disk.crash(number);
                broker.abandon();
                let broker = start(&disk);
                assert_eq!(read_all(&mut broker.client(), "t", 0).len(), 1, "operation {number}");
            } else {
                check_restart(&disk, broker, change, code == 0, number);
            }
            if !is_reached {
                break;
            }
        }
        assert!(refused > 0, "{} touches the disk", change.name);
    }
}
