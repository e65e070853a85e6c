//! A disk that is full or that fails: producers hear of it, readers do not, and nothing acknowledged is lost.

use std::path::Path;
use std::sync::Arc;

use pillion_broker::SimulatedDisk;

use crate::support::{
    Client, Fetched, TestBroker, batch, config, create_topic, eventually, fetch, list_offset, produce, produce_request,
    produce_with, read_all,
};

fn start(disk: &SimulatedDisk) -> TestBroker {
    TestBroker::try_start(Arc::new(disk.clone()), config(Path::new("/data"), &[])).expect("the broker starts")
}

fn topic() -> (SimulatedDisk, TestBroker, Client) {
    let disk = SimulatedDisk::new();
    let broker = start(&disk);
    let mut client = broker.client();
    create_topic(&mut client, "t", 3, &[]);
    for partition in 0..3 {
        assert_eq!(produce(&mut client, "t", partition, batch(&["before"])).error_code, 0);
    }
    (disk, broker, client)
}

#[test]
fn a_full_disk_refuses_producers_serves_readers_and_recovers() {
    let (disk, broker, mut client) = topic();
    disk.fail_writes(true);
    for acks in [-1, 1] {
        for _ in 0..3 {
            let mut request = produce_request("t", 0, batch(&["lost"]));
            request.acks = acks;
            assert_eq!(produce_with(&mut client, &request, 9).error_code, 56, "acks={acks}");
        }
    }
    assert_eq!(read_all(&mut client, "t", 0).len(), 1);
    assert_eq!(fetch(&mut broker.client(), "t", 0, 1).error_code, 0);
    disk.fail_writes(false);
    let answer = produce(&mut client, "t", 0, batch(&["after"]));
    assert_eq!((answer.error_code, answer.base_offset), (0, 1));
    let values: Vec<_> = read_all(&mut client, "t", 0).into_iter().filter_map(|record| record.value).collect();
    assert_eq!(values, ["before", "after"]);
    disk.crash(1);
    broker.abandon();
    let broker = start(&disk);
    assert_eq!(read_all(&mut broker.client(), "t", 0).len(), 2);
}

#[test]
fn a_failed_sync_takes_only_its_partition_offline() {
    let (disk, broker, mut client) = topic();
    disk.fail_syncs(true);
    assert_eq!(produce(&mut client, "t", 0, batch(&["lost"])).error_code, 56);
    disk.fail_syncs(false);
    assert_eq!(produce(&mut client, "t", 0, batch(&["again"])).error_code, 56, "a failed sync is not tried again");
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 1, "what was not synced is not shown");
    assert_eq!(read_all(&mut client, "t", 0).len(), 1, "what was synced is still served");
    for partition in [1, 2] {
        assert_eq!(produce(&mut client, "t", partition, batch(&["after"])).error_code, 0);
        assert_eq!(read_all(&mut client, "t", partition).len(), 2);
    }
    drop(client);
    broker.abandon();
    let broker = start(&disk);
    let mut client = broker.client();
    assert_eq!(produce(&mut client, "t", 0, batch(&["restarted"])).error_code, 0, "a restart brings it back");
    let values: Vec<_> = read_all(&mut client, "t", 0).into_iter().filter_map(|record| record.value).collect();
    assert_eq!((values.first(), values.last()), (Some(&"before".into()), Some(&"restarted".into())));
}

#[test]
fn between_the_high_watermark_and_the_log_end_is_not_out_of_range() {
    let (disk, _broker, mut client) = topic();
    disk.fail_syncs(true);
    let mut request = produce_request("t", 0, batch(&["written", "not synced"]));
    request.acks = 1;
    assert_eq!(produce_with(&mut client, &request, 9).base_offset, 1);
    // The log is 0 to 3 now, and its high watermark stays at 1.
    for (offset, code) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1)] {
        let fetched = fetch(&mut client, "t", 0, offset);
        assert_eq!((fetched.error_code, fetched.bytes().is_empty()), (code, offset > 0), "offset {offset}");
        assert!(code != 0 || fetched.high_watermark == 1);
    }
}

#[test]
fn producers_that_wait_are_told_when_a_sync_fails() {
    let (disk, broker, mut client) = topic();
    let mut others: Vec<_> = (0..4).map(|_| broker.client()).collect();
    disk.fail_syncs(true);
    for other in &mut others {
        other.send(&produce_request("t", 0, batch(&["x"])), 9);
    }
    for other in &mut others {
        let answer = other.receive::<pillion_wire::messages::ProduceRequest>(9);
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 56);
    }
    disk.fail_syncs(false);
    eventually("the others going on", || produce(&mut client, "t", 1, batch(&["x"])).error_code == 0);
}

#[test]
fn a_stop_after_a_failed_sync_is_not_taken_for_a_clean_one() {
    let (disk, broker, mut client) = topic();
    disk.fail_syncs(true);
    assert_eq!(produce(&mut client, "t", 0, batch(&["never synced"])).error_code, 56);
    disk.fail_syncs(false);
    drop(client);
    let _ = broker.try_stop();
    let broker = start(&disk);
    // Whatever the start found it shows only what the next power cut leaves.
    let shown = read_all(&mut broker.client(), "t", 0).len();
    disk.crash(5);
    broker.abandon();
    let broker = start(&disk);
    assert!(read_all(&mut broker.client(), "t", 0).len() >= shown, "a record was read and taken back");
}

#[test]
fn a_slow_sync_holds_up_its_own_partition_only() {
    let (disk, broker, mut client) = topic();
    let held = disk.hold_syncs_of("/data/t-0");
    let mut slow = broker.client();
    slow.send(&produce_request("t", 0, batch(&["slow"])), 9);
    eventually("the sync is under way", || held.waiting() > 0);
    for partition in [1, 2, 1, 2] {
        assert_eq!(produce(&mut client, "t", partition, batch(&["quick"])).error_code, 0);
    }
    assert_eq!(list_offset(&mut client, "t", 0, -1).offset, 1, "what is not durable is not shown");
    assert_eq!(read_all(&mut client, "t", 0).len(), 1);
    held.release();
    let answer = slow.receive::<pillion_wire::messages::ProduceRequest>(9);
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    assert_eq!(read_all(&mut client, "t", 0).len(), 2);
}
