use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::event::Producer;
use super::super::record::GroupRecord;
use super::harness::{GROUP, Harness, partition_offset};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const CONFIRMED: &[ErrorCode] = &[ErrorCode::None];

fn results(harness: &mut Harness, waiter: super::super::event::WaiterId) -> Vec<ErrorCode> {
    harness.commit_results(waiter).expect("is answered")
}

#[test]
fn an_offset_is_seen_once_its_transaction_is_committed_and_until_then_is_unstable() {
    let mut harness = Harness::new();
    harness.commit("", -1, 3);
    let waiter = harness.commit_in_transaction(1, 7);
    assert_eq!(results(&mut harness, waiter), CONFIRMED);
    assert_eq!(harness.committed(), Some(3));
    assert!(harness.shard.is_pending(GROUP, "orders", 0));
    assert!(!harness.shard.is_pending(GROUP, "orders", 1) && !harness.shard.is_pending(GROUP, "stock", 0));
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), Some(7));
    assert!(!harness.shard.is_pending(GROUP, "orders", 0));
}

#[test]
fn an_offset_of_an_aborted_transaction_is_never_seen() {
    let mut harness = Harness::new();
    harness.commit("", -1, 3);
    harness.commit_in_transaction(1, 7);
    harness.end_transaction(1, false);
    assert_eq!(harness.committed(), Some(3));
    assert!(!harness.shard.is_pending(GROUP, "orders", 0));
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), Some(3), "the transaction after it has no offsets");
}

#[test]
fn a_transactional_commit_is_answered_and_pending_only_once_it_is_durable() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let waiter = harness.commit_in_transaction(1, 7);
    assert_eq!(harness.commit_results(waiter), None);
    assert!(harness.shard.is_commit_under_way(GROUP), "who wants stable offsets waits for it");
    assert!(!harness.shard.is_pending(GROUP, "orders", 0));
    harness.flush();
    assert_eq!(results(&mut harness, waiter), CONFIRMED);
    assert!(harness.shard.is_pending(GROUP, "orders", 0));
}

#[test]
fn an_offset_committed_behind_that_of_a_transaction_outlasts_its_commit() {
    let mut harness = Harness::new();
    harness.commit_in_transaction(1, 7);
    harness.commit("", -1, 3);
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), Some(3));
    harness.restart();
    assert_eq!(harness.committed(), Some(3));
}

#[test]
fn of_two_transactions_that_of_the_later_record_stands_whichever_is_committed_first() {
    for order in [[1, 2], [2, 1]] {
        let mut harness = Harness::new();
        harness.commit_in_transaction(1, 7);
        harness.commit_in_transaction(2, 9);
        for producer_id in order {
            assert!(harness.shard.is_pending(GROUP, "orders", 0));
            harness.end_transaction(producer_id, true);
        }
        assert_eq!(harness.committed(), Some(9), "{order:?}");
        assert!(!harness.shard.is_pending(GROUP, "orders", 0));
    }
}

#[test]
fn of_several_commits_in_a_transaction_the_last_counts() {
    let mut harness = Harness::new();
    for offset in [9, 7, 8] {
        harness.commit_in_transaction(1, offset);
    }
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), Some(8));
}

#[test]
fn what_is_pending_is_so_after_a_restart_and_ends_with_the_marker() {
    for is_committed in [true, false] {
        let mut harness = Harness::new();
        harness.commit_in_transaction(1, 7);
        harness.restart();
        assert_eq!(harness.committed(), None);
        assert!(harness.shard.is_pending(GROUP, "orders", 0));
        harness.end_transaction(1, is_committed);
        let expected = Some(7).filter(|_| is_committed);
        assert_eq!(harness.committed(), expected);
        harness.restart();
        assert_eq!(harness.committed(), expected);
        assert!(!harness.shard.is_pending(GROUP, "orders", 0));
    }
}

#[test]
fn a_marker_told_of_before_the_records_in_front_of_it_ends_their_transaction_all_the_same() {
    for is_committed in [true, false] {
        let mut harness = Harness::new();
        harness.is_log_prompt = false;
        let waiter = harness.commit_in_transaction(1, 7);
        harness.end_transaction(1, is_committed);
        harness.flush();
        assert_eq!(results(&mut harness, waiter), CONFIRMED);
        assert_eq!(harness.committed(), Some(7).filter(|_| is_committed));
        assert!(!harness.shard.is_pending(GROUP, "orders", 0));
        harness.commit_in_transaction(1, 8);
        harness.flush();
        assert!(harness.shard.is_pending(GROUP, "orders", 0), "the next transaction is another");
    }
}

#[test]
fn a_commit_of_a_fenced_producer_fails_alone() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let other = harness.commit("", -1, 3);
    harness.is_producer_fenced = true;
    let waiter = harness.commit_in_transaction(1, 7);
    assert_eq!(results(&mut harness, waiter), [ErrorCode::InvalidProducerEpoch]);
    harness.flush();
    assert_eq!(results(&mut harness, other), CONFIRMED);
    assert_eq!(harness.committed(), Some(3));
    assert!(!harness.shard.is_commit_under_way(GROUP) && !harness.shard.is_pending(GROUP, "orders", 0));
}

#[test]
fn a_refused_commit_to_a_group_that_did_not_exist_leaves_none() {
    let mut harness = Harness::new();
    harness.is_producer_fenced = true;
    harness.commit_in_transaction(1, 7);
    let waiter = harness.delete_group();
    assert_eq!(harness.deletion(waiter), ErrorCode::GroupIdNotFound);
}

#[test]
fn a_group_whose_only_offsets_were_aborted_is_gone() {
    let mut harness = Harness::new();
    harness.commit_in_transaction(1, 7);
    assert_eq!(harness.shard.list().len(), 1);
    harness.end_transaction(1, false);
    assert!(harness.shard.list().is_empty());
    let waiter = harness.delete_group();
    assert_eq!(harness.deletion(waiter), ErrorCode::GroupIdNotFound);
}

#[test]
fn the_member_that_read_is_checked_as_for_any_commit() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    for (member_id, asked, error) in [
        (&*leader, generation, ErrorCode::None),
        (&*leader, generation - 1, ErrorCode::IllegalGeneration),
        (&*leader, -1, ErrorCode::IllegalGeneration),
        ("made-up", generation, ErrorCode::UnknownMemberId),
        ("", generation, ErrorCode::UnknownMemberId),
        // A producer older than KIP-447 does not say who read.
        ("", -1, ErrorCode::None),
    ] {
        let mut commit = harness.commit_request(member_id, asked, 7);
        commit.producer = Some(Producer { id: 1, epoch: 0, guard: None });
        let waiter = harness.commit_with(commit);
        assert_eq!(results(&mut harness, waiter), [error], "{member_id:?} {asked}");
    }
}

#[test]
fn a_static_member_that_was_replaced_is_fenced_in_transactions_too() {
    let mut harness = Harness::new();
    let mut join = harness.join_request("");
    join.group_instance_id = Some(Arc::from("one"));
    let waiter = harness.join(join);
    let joined = harness.join_answer(waiter).unwrap();
    let waiter = harness.sync(&joined.member_id, joined.generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().error, ErrorCode::None);
    let mut again = harness.join_request("");
    again.group_instance_id = Some(Arc::from("one"));
    harness.join(again);
    let mut commit = harness.commit_request(&joined.member_id, joined.generation, 7);
    commit.producer = Some(Producer { id: 1, epoch: 0, guard: None });
    commit.group_instance_id = Some(Arc::from("one"));
    let waiter = harness.commit_with(commit);
    assert_eq!(results(&mut harness, waiter), [ErrorCode::FencedInstanceId]);
}

#[test]
fn a_transaction_may_commit_between_join_and_assignment() {
    let mut harness = Harness::new();
    let (leader, waiter) = harness.join_new();
    let generation = harness.join_answer(waiter).unwrap().generation;
    let mut commit = harness.commit_request(&leader, generation, 7);
    commit.producer = Some(Producer { id: 1, epoch: 0, guard: None });
    let waiter = harness.commit_with(commit);
    assert_eq!(results(&mut harness, waiter), CONFIRMED, "the producer's epoch fences it, as in Kafka");
}

#[test]
fn a_transactional_commit_does_not_show_that_a_member_lives() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    for _ in 0..2 {
        harness.pass(Duration::from_secs(6));
        let mut commit = harness.commit_request(&leader, generation, 7);
        commit.producer = Some(Producer { id: 1, epoch: 0, guard: None });
        harness.commit_with(commit);
    }
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::UnknownMemberId);
}

#[test]
fn what_an_open_transaction_may_change_does_not_expire_and_nor_does_its_group() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("", -1, 3);
    commit.offsets.push(partition_offset("stock", 0, 4, ""));
    harness.commit_with(commit);
    harness.commit_in_transaction(1, 7);
    harness.pass(8 * DAY);
    harness.expire_offsets();
    harness.pass(8 * DAY);
    harness.expire_offsets();
    assert_eq!(harness.committed(), Some(3));
    assert!(harness.shard.committed(GROUP, "stock", 0).is_none());
    harness.end_transaction(1, false);
    harness.expire_offsets();
    assert_eq!(harness.committed(), None);
    assert_eq!(harness.log.last(), Some(&GroupRecord::Metadata { group_id: Arc::from(GROUP), metadata: None }));
}

#[test]
fn pending_offsets_of_a_deleted_topic_are_forgotten() {
    let mut harness = Harness::new();
    harness.commit_in_transaction(1, 7);
    let mut actions = Vec::new();
    harness.shard.forget_topic("orders", &mut actions);
    harness.settle(actions);
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), None);
    harness.restart();
    assert_eq!(harness.committed(), None);
}
