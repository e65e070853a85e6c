//! What a broker counts, held against what was done to it.

use std::path::Path;
use std::sync::Arc;

use pillion_broker::{BrokerSnapshot, SimulatedDisk, SnapshotLimits, Unready};

use crate::support::{
    Client, Fetched, TestBroker, batch, config, create_topic, delete_topic, eventually, fetch, metadata, produce,
};

const EVERYTHING: SnapshotLimits =
    SnapshotLimits { topics: usize::MAX, groups: usize::MAX, topics_of_group: usize::MAX };

fn look(broker: &TestBroker) -> BrokerSnapshot {
    broker.observer().snapshot(EVERYTHING).expect("it runs")
}

fn answered(seen: &BrokerSnapshot, api: &str) -> u64 {
    seen.apis.iter().find(|seen| seen.name == api).map_or(0, |seen| seen.latency.count())
}

#[test]
fn requests_bytes_and_records_are_counted() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "orders", 2, &[]);
    let before = look(&broker);
    assert_eq!((answered(&before, "Produce"), before.topics[0].appended_records), (0, 0));
    let sent = batch(&["one", "two"]);
    let size = sent.len() as u64;
    for partition in [0, 1, 1] {
        assert_eq!(produce(&mut client, "orders", partition, sent.clone()).error_code, 0);
    }
    let fetched = fetch(&mut client, "orders", 1, 0).bytes().len() as u64;
    let after = look(&broker);
    assert_eq!((answered(&after, "Produce"), answered(&after, "Fetch")), (3, 1));
    assert_eq!(after.syncs.count() - before.syncs.count(), 3, "each produce waited for its sync");
    let orders = &after.topics[0];
    assert_eq!((orders.name.as_str(), orders.partitions, orders.offline_partitions), ("orders", 2, 0));
    assert_eq!((orders.appended_records, orders.appended_bytes), (6, 3 * size));
    assert_eq!((orders.high_watermarks, orders.log_start_offsets, orders.fetched_bytes), (6, 0, 2 * size));
    assert_eq!(fetched, 2 * size);
    assert_eq!(orders.log_bytes, 3 * size);
    assert_eq!(after.appended_records - before.appended_records, 6);
    assert!(after.network.received_bytes - before.network.received_bytes > 3 * size);
    // An answer is here before those who sent it have counted it.
    eventually("the answers being counted", || look(&broker).network.sent_bytes - before.network.sent_bytes > fetched);
    assert_eq!(after.unsynced_bytes, 0);
}

#[test]
fn counters_outlive_the_topics_they_came_from() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    create_topic(&mut client, "gone", 1, &[]);
    produce(&mut client, "gone", 0, batch(&["x"]));
    let before = look(&broker);
    delete_topic(&mut client, "gone");
    let after = look(&broker);
    assert_eq!((after.topic_count, after.partition_count, after.log_bytes), (0, 0, 0));
    assert_eq!(after.appended_records, before.appended_records);
}

#[test]
fn connections_come_and_go() {
    let broker = TestBroker::fresh(&[("max.connections.per.ip", "2")]);
    let mut clients: Vec<Client> = (0..2).map(|_| broker.client()).collect();
    clients.iter_mut().for_each(|client| drop(metadata(client, &[])));
    broker.client().expect_closed();
    let seen = look(&broker).network;
    assert_eq!((seen.connections_open, seen.connections_opened, seen.connections_refused), (2, 2, 1));
    drop(clients);
    eventually("connections ending", || look(&broker).network.connections_open == 0);
    let mut client = broker.client();
    client.send_bytes(b"GET / HTTP/1.1\r\n");
    client.expect_closed();
    assert_eq!(look(&broker).network.protocol_errors, 1);
}

#[test]
fn lists_are_bounded_and_sums_are_not() {
    let broker = TestBroker::fresh(&[]);
    let mut client = broker.client();
    for name in ["c", "a", "b"] {
        create_topic(&mut client, name, 2, &[]);
        produce(&mut client, name, 0, batch(&["x"]));
    }
    let seen = broker.observer().snapshot(SnapshotLimits { topics: 2, groups: 0, topics_of_group: 0 }).unwrap();
    assert_eq!(seen.topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((seen.topic_count, seen.partition_count), (3, 6));
    assert_eq!(seen.log_bytes, 3 * batch(&["x"]).len() as u64);
}

#[test]
fn a_failed_sync_shows_as_a_partition_offline() {
    let disk = SimulatedDisk::new();
    let broker = TestBroker::try_start(Arc::new(disk.clone()), config(Path::new("/data"), &[])).unwrap();
    let mut client = broker.client();
    create_topic(&mut client, "t", 3, &[]);
    produce(&mut client, "t", 0, batch(&["before"]));
    disk.fail_syncs(true);
    assert_ne!(produce(&mut client, "t", 0, batch(&["lost"])).error_code, 0);
    disk.fail_syncs(false);
    let seen = look(&broker);
    assert_eq!((seen.sync_failures, seen.offline_partition_count, seen.topics[0].offline_partitions), (1, 1, 1));
    assert_eq!(broker.observer().unready(), [], "its other partitions are served");
}

#[test]
fn a_disk_without_room_is_a_reason_not_to_be_ready() {
    let broker = TestBroker::fresh(&[("log.min.free.bytes", &i64::MAX.to_string())]);
    let reasons = broker.observer().unready();
    let [Unready::DiskFull { free_bytes, free_bytes_min }] = reasons[..] else { panic!("{reasons:?}") };
    assert!(free_bytes < free_bytes_min);
}

#[test]
fn a_stopped_broker_is_seen_as_stopped() {
    let broker = TestBroker::fresh(&[]);
    let observer = broker.observer();
    assert_eq!(observer.unready(), []);
    broker.stop();
    assert_eq!(observer.unready(), [Unready::Stopped]);
    assert!(observer.snapshot(EVERYTHING).is_none());
}
