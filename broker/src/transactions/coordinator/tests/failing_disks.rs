//! Partitions that take no records, for a while or until the next start.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::records::EndTransactionMarker;

use super::super::super::action::Answer;
use super::super::super::event::Protocol::{self, Classic, EpochBump};
use super::node::{LONG, Node, answer};
use crate::disk::SimulatedDisk;

const STATE: &str = "/data/__transaction_state-0";
const FIRST: &str = "/data/orders-0";
const SECOND: &str = "/data/orders-1";

/// A producer with a record in each partition.
async fn open(node: &Node, protocol: Protocol) -> super::super::super::event::ProducerIdentity {
    let producer = node.init().await;
    assert_eq!(node.add(producer, protocol, 0..3).await, Ok(Answer::Added));
    for index in 0..3 {
        node.write(producer, index, 0, 1).await.expect("writes");
    }
    producer
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, holds).await.unwrap_or_else(|_| panic!("{what} did not happen"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_partition_that_goes_offline_is_not_served_and_nothing_is_written_for_it() {
    for protocol in [Classic, EpochBump] {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk, 0).await;
        node.keep_time();
        let producer = open(&node, protocol).await;
        let held = disk.hold_syncs_of(FIRST);
        let end = node.begin_end(producer, protocol, true);
        until("the decision", || node.offsets()[1].log_end_offset == 2).await;
        disk.fail_syncs_of(STATE, true);
        held.release();
        assert!(matches!(answer(end).await, Ok(Answer::Producer(_))), "what was decided is durable");
        // The record of the end waits for the next sync, or for its time.
        node.keep_time();
        until("the loss of the partition", || node.state.is_closed()).await;
        let refusal = async {
            loop {
                match answer(node.begin_init(Some(8), 1_000)).await {
                    Err(ErrorCode::CoordinatorLoadInProgress | ErrorCode::NotCoordinator) => {
                        tokio::task::yield_now().await;
                    }
                    other => break other,
                }
            }
        };
        let refused = tokio::time::timeout(LONG, refusal).await.expect("is not read for ever");
        assert_eq!(refused, Err(ErrorCode::CoordinatorNotAvailable));
        let ends: Vec<i64> = node.offsets().iter().map(|offsets| offsets.log_end_offset).collect();
        assert_eq!(ends, [2, 2, 2], "one marker each");
        disk.fail_syncs_of(STATE, false);
        disk.crash(3);
        node.end();
        let after = Node::start(&disk, 1).await;
        after.until_stable("after the next start").await;
        assert_eq!((0..3).map(|index| after.committed(index)).collect::<Vec<_>>(), [[1], [1], [1]]);
        after.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_cannot_be_made_durable_is_not_answered_as_made() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let producer = open(&node, EpochBump).await;
    disk.fail_syncs_of(STATE, true);
    assert_eq!(node.end_transaction(producer, EpochBump, true).await, Err(ErrorCode::NotCoordinator));
    let ends: Vec<i64> = node.offsets().iter().map(|offsets| offsets.log_end_offset).collect();
    assert_eq!(ends, [1, 1, 1], "no marker before the decision is durable");
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_goes_offline_keeps_its_transaction_open_and_the_others_get_one_marker() {
    for protocol in [Classic, EpochBump] {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk, 0).await;
        let producer = open(&node, protocol).await;
        disk.fail_syncs_of(SECOND, true);
        let concurrent = Err(ErrorCode::ConcurrentTransactions);
        assert_eq!(node.end_transaction(producer, protocol, true).await, concurrent);
        node.keep_time();
        // Each is answered after another attempt.
        for _ in 0..2 {
            assert_eq!(node.end_transaction(producer, protocol, true).await, concurrent);
        }
        let ends: Vec<i64> = node.offsets().iter().map(|offsets| offsets.log_end_offset).collect();
        assert_eq!((ends[0], ends[2]), (2, 2), "markers are not written again where they are");
        disk.fail_syncs_of(SECOND, false);
        disk.crash(5);
        node.end();
        let after = Node::start(&disk, 1).await;
        after.until_stable("after the next start").await;
        assert_eq!((0..3).map(|index| after.committed(index)).collect::<Vec<_>>(), [[1], [1], [1]]);
        after.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_full_disk_has_room_again_the_transaction_ends_without_a_restart() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let producer = open(&node, Classic).await;
    disk.fail_writes_of(SECOND, true);
    assert_eq!(node.end_transaction(producer, Classic, true).await, Err(ErrorCode::ConcurrentTransactions));
    disk.fail_writes_of(SECOND, false);
    node.keep_time();
    node.until_stable("with room again").await;
    assert_eq!(node.end_transaction(producer, Classic, true).await, Ok(Answer::Producer(producer)));
    assert_eq!((0..3).map(|index| node.committed(index)).collect::<Vec<_>>(), [[1], [1], [1]]);
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_state_cannot_be_written_markers_are_not_written_again_and_again() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let producer = open(&node, Classic).await;
    let held = disk.hold_syncs_of(FIRST);
    let end = node.begin_end(producer, Classic, true);
    until("the decision", || node.offsets()[1].log_end_offset == 2).await;
    disk.fail_writes_of(STATE, true);
    held.release();
    assert!(answer(end).await.is_ok());
    node.keep_time();
    until("another attempt", || node.offsets().iter().any(|offsets| offsets.log_end_offset >= 3)).await;
    let ends: Vec<i64> = node.offsets().iter().map(|offsets| offsets.log_end_offset).collect();
    assert!(ends.iter().all(|end| *end <= 7), "a few attempts, further and further apart: {ends:?}");
    disk.fail_writes_of(STATE, false);
    let goes_on = async {
        while node.add(producer, Classic, [0]).await != Ok(Answer::Added) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, goes_on).await.expect("goes on once it can be written");
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_epoch_that_a_tool_wrote_does_not_keep_markers_away() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let producer = open(&node, Classic).await;
    let marker = EndTransactionMarker { commit: false, coordinator_epoch: 77 };
    node.orders[0].end_transaction(producer.id, producer.epoch, marker, false).expect("writes");
    node.write(producer, 0, 1, 2).await.expect("its transaction is open");
    assert_eq!(node.end_transaction(producer, Classic, true).await, Ok(Answer::Producer(producer)));
    node.until_stable("after the end").await;
    assert_eq!(node.committed(0), [2], "the tool aborted what was there before");
    assert_eq!(node.committed(1), [1]);
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_deleted_does_not_hold_up_the_end_of_its_transactions() {
    for protocol in [Classic, EpochBump] {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk, 0).await;
        let producer = open(&node, protocol).await;
        node.orders[0].delete();
        let held = disk.hold_syncs_of(SECOND);
        let end = node.begin_end(producer, protocol, true);
        until("the last marker", || node.offsets()[2].log_end_offset == 2).await;
        node.orders[1].delete();
        let ended = answer(end).await;
        assert!(matches!(ended, Ok(Answer::Producer(_))), "{ended:?}");
        held.release();
        node.topics.remove(&["orders"]);
        let Ok(Answer::Producer(producer)) = ended else { return };
        assert_eq!(node.add(producer, protocol, 0..3).await, Ok(Answer::Added));
        assert!(node.end_transaction(producer, protocol, false).await.is_ok(), "there is nowhere to write to");
        node.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_stop_requests_under_way_are_answered_and_the_next_start_writes_what_is_missing() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let producer = open(&node, EpochBump).await;
    let held = disk.hold_syncs_of(SECOND);
    let end = node.begin_end(producer, EpochBump, true);
    let waiting = node.begin_init(Some(8), 1_000);
    until("the last marker", || node.offsets()[2].log_end_offset == 2).await;
    node.coordinator.stop();
    assert_eq!(answer(end).await, Err(ErrorCode::NotCoordinator));
    assert_eq!(answer(waiting).await, Err(ErrorCode::NotCoordinator));
    assert_eq!(answer(node.begin_init(Some(8), 1_000)).await, Err(ErrorCode::NotCoordinator));
    held.release();
    node.end();
    disk.crash(1);
    let after = Node::start(&disk, 1).await;
    after.until_stable("after the next start").await;
    assert_eq!((0..3).map(|index| after.committed(index)).collect::<Vec<_>>(), [[1], [1], [1]]);
    after.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_durable_during_a_stop_is_answered() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let held = disk.hold_syncs_of(STATE);
    let init = node.begin_init(Some(7), 1_000);
    node.coordinator.stop();
    held.release();
    assert!(matches!(answer(init).await, Ok(Answer::Producer(producer)) if producer.id == 7));
    node.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_may_block_is_taken_from_any_thread() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk, 0).await;
    let (shard, (tell, told)) = (node.shard(), tokio::sync::oneshot::channel());
    let thread = std::thread::spawn(move || shard.spawn_blocking(move || tell.send(()).expect("somebody waits")));
    thread.join().expect("outside of the runtime, too");
    tokio::time::timeout(LONG, told).await.expect("is done in time").expect("is done");
    drop(Arc::clone(&node.state));
    node.end();
}
