//! The coordinator on partitions whose disk loses power, refuses writes, or does not sync for a while.

mod node;
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record};
use tokio_util::sync::CancellationToken;

use super::super::action::Answer;
use super::super::event::{Leave, LeavingMember};
use super::super::limits::GroupLimits;
use super::GroupCoordinator;
use crate::disk::SimulatedDisk;
use node::{LONG, Node, answer, confirmed, replying};

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_commit_survives_a_power_cut() {
    for seed in 0..25 {
        let disk = SimulatedDisk::new();
        let before = Node::start(&disk).await;
        let mut last_confirmed = -1;
        for offset in 0..8 {
            assert_eq!(before.commit("saga", offset).await, confirmed());
            last_confirmed = offset;
        }
        let unconfirmed = before.begin_commit("saga", 8);
        disk.crash(seed);
        let after = Node::start(&disk).await;
        let committed = after.fetch("saga").await.expect("serves").expect("is there");
        assert!(committed >= last_confirmed, "seed {seed}: {committed} after {last_confirmed} was confirmed");
        drop(unconfirmed);
        before.scheduler.stop();
        after.scheduler.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settled_group_goes_on_after_a_power_cut() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    let (member_id, generation) = before.join("saga").await;
    let synced = before.sync("saga", &member_id, generation).await;
    assert!(matches!(synced, Ok(Answer::Sync(synced)) if synced.assignment == "everything"));
    disk.crash(1);
    let after = Node::start(&disk).await;
    assert_eq!(after.heartbeat("saga", &member_id, generation), ErrorCode::None);
    let synced = after.sync("saga", &member_id, generation).await;
    assert!(matches!(synced, Ok(Answer::Sync(synced)) if synced.assignment == "everything"));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_in_the_partitions_kafka_puts_them() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    for group_id in ["KafkaConsumerDemo", "payment", "inventory", "order"] {
        let before = node.partition(group_id).offsets().log_end_offset;
        assert_eq!(node.commit(group_id, 1).await, confirmed());
        assert_eq!(node.partition(group_id).offsets().log_end_offset, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_offsets_topic_this_is_not_the_coordinator() {
    let coordinator = GroupCoordinator::new(GroupLimits::default());
    assert!(matches!(coordinator.shard("saga"), Err(ErrorCode::NotCoordinator)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_requires_stable_offsets_waits_for_commits_under_way() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    // From here on nothing becomes durable by itself.
    node.scheduler.stop();
    let mut commit = node.begin_commit("saga", 7);
    let mut stable = node.begin_fetch("saga", true);
    assert_eq!(node.fetch("saga").await, Ok(None), "others see what is durable");
    assert_eq!(answer(node.begin_fetch("another", true)).await, Ok(None), "other groups wait for nothing");
    assert!(commit.try_recv().is_err() && stable.try_recv().is_err());
    node.partition("saga").close(crate::partition::ClosingSync::OneByOne).expect("syncs");
    assert_eq!(answer(commit).await, confirmed());
    assert_eq!(answer(stable).await, Ok(Some(7)));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_sync_fails_all_who_wait_are_told_and_what_was_durable_is_served() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    let (member_id, generation) = node.join("others").await;
    let parked = node.begin_join("others");
    disk.fail_syncs(true);
    let failing = node.begin_commit("saga", 8);
    let stable = node.begin_fetch("saga", true);
    assert_eq!(answer(failing).await, Ok(Answer::Commit(vec![ErrorCode::NotCoordinator])));
    assert!(matches!(answer(stable).await, Err(ErrorCode::CoordinatorLoadInProgress) | Ok(Some(7))));
    let fetched = tokio::time::timeout(LONG, async {
        loop {
            match node.fetch("saga").await {
                Err(ErrorCode::CoordinatorLoadInProgress) => tokio::task::yield_now().await,
                other => break other,
            }
        }
    });
    assert_eq!(fetched.await.expect("is read again"), Ok(Some(7)));
    if node.partition("saga").index() != node.partition("others").index() {
        assert_eq!(node.heartbeat("others", &member_id, generation), ErrorCode::RebalanceInProgress, "others go on");
    }
    drop(parked);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_write_fails_the_commit_is_refused_and_the_next_one_taken() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    disk.fail_writes(true);
    assert_eq!(node.commit("saga", 8).await, Ok(Answer::Commit(vec![ErrorCode::NotCoordinator])));
    disk.fail_writes(false);
    let committed = tokio::time::timeout(LONG, async {
        loop {
            match node.commit("saga", 9).await {
                Err(ErrorCode::CoordinatorLoadInProgress) => tokio::task::yield_now().await,
                other => break other,
            }
        }
    });
    assert_eq!(committed.await.expect("is read again"), confirmed());
    assert_eq!(node.fetch("saga").await, Ok(Some(9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_members_are_noticed_without_any_request() {
    let limits = GroupLimits {
        session_timeout_min: Duration::from_millis(1),
        initial_rebalance_delay: Duration::ZERO,
        ..GroupLimits::default()
    };
    let disk = SimulatedDisk::new();
    let node = Node::start_with(&disk, limits).await;
    let stop = CancellationToken::new();
    let keeper = tokio::spawn(Arc::clone(&node.coordinator.shards).keep_time(stop.clone()));
    let told = node.begin_join_within("saga", 20);
    assert!(matches!(answer(told).await, Ok(Answer::Join(joined)) if joined.error == ErrorCode::None));
    // The member is gone, and the empty group is written.
    let written = async {
        while node.partition("saga").offsets().high_watermark == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, written).await.expect("somebody looks at the clock");
    stop.cancel();
    keeper.await.expect("ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_of_a_deleted_topic_are_gone_even_if_their_commit_was_under_way() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    assert_eq!(node.commit("saga", 7).await, confirmed());
    let under_way = node.begin_commit("saga", 8);
    node.coordinator.topic_deleted(&Arc::from("orders"));
    assert_eq!(answer(under_way).await, confirmed());
    let fetched = tokio::time::timeout(LONG, async {
        while node.fetch("saga").await != Ok(None) {
            tokio::task::yield_now().await;
        }
    });
    fetched.await.expect("are forgotten");
    disk.crash(1);
    let after = Node::start(&disk).await;
    assert_eq!(after.fetch("saga").await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_stop_members_that_wait_for_others_are_answered_and_commits_under_way_confirmed() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    node.join("saga").await;
    let parked = node.begin_join("saga");
    let commit = node.begin_commit("another", 7);
    node.coordinator.stop();
    assert!(matches!(answer(parked).await, Ok(Answer::Join(joined)) if joined.error == ErrorCode::NotCoordinator));
    assert_eq!(answer(commit).await, confirmed());
    assert_eq!(node.commit("saga", 8).await, Err(ErrorCode::NotCoordinator));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_member_to_leave_is_answered() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    let (member_id, _) = node.join("saga").await;
    let (reply, told) = replying();
    let leaving = LeavingMember { member_id, group_instance_id: None, reason: None };
    node.shard("saga").leave(&Arc::from("saga"), |waiter| Leave { waiter, members: vec![leaving] }, reply);
    assert_eq!(answer(told).await, Ok(Answer::Leave(vec![ErrorCode::None])));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_at_once_are_confirmed_in_their_order() {
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await;
    let under_way: Vec<_> = (0..500).map(|offset| node.begin_commit("saga", offset)).collect();
    for commit in under_way {
        assert_eq!(answer(commit).await, confirmed());
    }
    assert_eq!(node.fetch("saga").await, Ok(Some(499)));
    disk.crash(3);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(499)));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_nobody_here_wrote_are_passed_over() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    assert_eq!(before.commit("saga", 7).await, confirmed());
    let partition = before.partition("saga");
    let mut builder = BatchBuilder::new(Compression::None);
    let foreign: [(&[u8], &[u8]); 4] = [
        (b"\x00\x03\x00\x04saga", b"\x00\x00\x00\x00\x00\x01"),
        (b"\x00\x02\x7f\xff", b"\x00\x03"),
        (b"\x00", b""),
        (b"", b"no key at all"),
    ];
    for (key, value) in foreign {
        builder.push(&Record { key: Some(key.into()), value: Some(value.into()), ..Record::default() });
    }
    builder.push(&Record { value: Some("null key".into()), ..Record::default() });
    let batch = builder.build(None).expect("builds");
    let header = BatchHeader::parse(&batch).expect("is whole");
    partition.append(&batch, header).expect("appends");
    assert_eq!(before.commit("saga", 8).await, confirmed());
    disk.crash(1);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(8)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_longer_than_one_read_is_read_whole() {
    let disk = SimulatedDisk::new();
    let before = Node::start(&disk).await;
    // More than two segments, in batches of many sizes.
    let under_way: Vec<_> = (0..30_000).map(|offset| before.begin_commit("saga", offset)).collect();
    for commit in under_way {
        assert_eq!(answer(commit).await, confirmed());
    }
    assert!(before.partition("saga").offsets().log_end_offset >= 30_000);
    disk.crash(1);
    assert_eq!(Node::start(&disk).await.fetch("saga").await, Ok(Some(29_999)));
}

#[test]
fn keeping_time_leaves_the_worker_to_others() {
    let (tell, told) = std::sync::mpsc::channel();
    // One worker: a task that never rests would have it for itself.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("builds");
        runtime.block_on(async {
            let node = Node::start(&SimulatedDisk::new()).await;
            let (member_id, generation) = node.join("saga").await;
            tokio::spawn(Arc::clone(&node.coordinator.shards).keep_time(CancellationToken::new()));
            for _ in 0..100 {
                tokio::task::yield_now().await;
                assert_eq!(node.heartbeat("saga", &member_id, generation), ErrorCode::None);
            }
        });
        let _ = tell.send(());
    });
    told.recv_timeout(LONG).expect("others come to run");
}
