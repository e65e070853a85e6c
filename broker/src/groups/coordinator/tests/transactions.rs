//! Offsets in transactions, on partitions that know their producers.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchHeader, EndTransactionMarker};

use super::super::super::action::Answer;
use super::super::super::event::{Producer, TransactionEnd};
use super::node::{Node, answer, confirmed};
use crate::disk::SimulatedDisk;
use crate::log::ReadFrom;
use crate::partition::Isolation;

const GROUP: &str = "saga";

/// What a producer of this epoch would be let in with.
fn producer(node: &Node, epoch: i16) -> Producer {
    Producer { id: 7, epoch, guard: node.shard(GROUP).guard(7, epoch) }
}

/// As the transaction coordinator does it: a marker, and word of it once it is durable.
async fn end_transaction(node: &Node, epoch: i16, commit: bool) {
    let partition = Arc::clone(node.partition(GROUP));
    let marker = EndTransactionMarker { commit, coordinator_epoch: 0 };
    let next_offset = partition.end_transaction(7, epoch, marker, false).expect("writes");
    let (tell, told) = tokio::sync::oneshot::channel();
    let (coordinator, index) = (Arc::clone(&node.coordinator), partition.index());
    let ended = move |durable: Result<(), _>| {
        durable.expect("is durable");
        let end = TransactionEnd { marker_offset: next_offset - 1, is_committed: commit };
        coordinator.transaction_ended(index, 7, end);
        let _ = tell.send(Ok(()));
    };
    partition.when_durable(next_offset, Box::new(ended));
    answer(told).await.expect("is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_transactions_offset_survives_a_power_cut_and_an_open_ones_stays_open() {
    for seed in 0..10 {
        let disk = SimulatedDisk::new();
        let before = Node::start(&disk).await;
        assert_eq!(before.commit_in_transaction(GROUP, producer(&before, 0), 7).await, confirmed());
        assert_eq!(before.fetch(GROUP).await, Ok(None));
        end_transaction(&before, 0, true).await;
        assert_eq!(before.fetch(GROUP).await, Ok(Some(7)), "whoever is told of the end finds it done");
        assert_eq!(before.commit_in_transaction(GROUP, producer(&before, 0), 8).await, confirmed());
        disk.crash(seed);
        let after = Node::start(&disk).await;
        assert_eq!(after.fetch(GROUP).await, Ok(Some(7)), "seed {seed}");
        assert!(after.is_pending(GROUP));
        end_transaction(&after, 0, seed % 2 == 0).await;
        assert_eq!(after.fetch(GROUP).await, Ok(Some(if seed % 2 == 0 { 8 } else { 7 })));
        assert!(!after.is_pending(GROUP));
        before.scheduler.stop();
        after.scheduler.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_of_a_transaction_are_in_a_batch_of_its_producer_without_a_sequence() {
    let node = Node::start(&SimulatedDisk::new()).await;
    assert_eq!(node.commit_in_transaction(GROUP, producer(&node, 3), 7).await, confirmed());
    let partition = node.partition(GROUP);
    let slice =
        partition.read(0, 1 << 20, ReadFrom::Disk, Isolation::ReadUncommitted).expect("reads").expect("is there");
    let mut bytes = vec![0; slice.length];
    slice.file.read_at(slice.position, &mut bytes).expect("reads");
    let header = BatchHeader::parse(&bytes).expect("is a batch");
    assert!(header.is_transactional() && !header.is_control());
    assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (7, 3, -1));
    assert_eq!(partition.offsets().last_stable_offset, 0, "who reads committed records waits for the marker");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_producer_is_refused_and_nobody_else_notices() {
    let node = Node::start(&SimulatedDisk::new()).await;
    assert_eq!(node.commit_in_transaction(GROUP, producer(&node, 5), 7).await, confirmed());
    let refused = Ok(Answer::Commit(vec![ErrorCode::InvalidProducerEpoch]));
    assert_eq!(node.commit_in_transaction(GROUP, producer(&node, 4), 8).await, refused);
    assert_eq!(node.commit(GROUP, 9).await, confirmed());
    assert_eq!(node.fetch(GROUP).await, Ok(Some(9)));
    end_transaction(&node, 5, true).await;
    assert_eq!(node.fetch(GROUP).await, Ok(Some(9)), "it was committed behind the transaction's");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_comes_behind_the_end_of_its_transaction_is_to_be_asked_for_again() {
    let node = Node::start(&SimulatedDisk::new()).await;
    let late = producer(&node, 0);
    assert_eq!(node.commit_in_transaction(GROUP, producer(&node, 0), 7).await, confirmed());
    end_transaction(&node, 0, false).await;
    let again = Ok(Answer::Commit(vec![ErrorCode::ConcurrentTransactions]));
    assert_eq!(node.commit_in_transaction(GROUP, late, 8).await, again);
    assert!(!node.is_pending(GROUP));
    assert_eq!(node.commit(GROUP, 9).await, confirmed(), "the group goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_many_producers_and_of_none_at_once_all_come_out_right() {
    let node = Node::start(&SimulatedDisk::new()).await;
    let mut under_way = Vec::new();
    for round in 0..100 {
        under_way.push(node.begin_commit(GROUP, round));
        let producer = Producer { id: round % 7, epoch: 0, guard: node.shard(GROUP).guard(round % 7, 0) };
        under_way.push(node.begin_commit_in_transaction(GROUP, producer, 1_000 + round));
    }
    for commit in under_way {
        assert_eq!(answer(commit).await, confirmed());
    }
    assert_eq!(node.fetch(GROUP).await, Ok(Some(99)));
    assert!(node.is_pending(GROUP));
}
