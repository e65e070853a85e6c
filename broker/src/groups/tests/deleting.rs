use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::event::MemberProtocol;
use super::super::record::GroupRecord;
use super::harness::{GROUP, Harness, partition_offset};

/// Joins alone, and settles; answers the member's id.
fn only_member(harness: &mut Harness, protocol_type: &str, subscription: &'static [u8]) -> Arc<str> {
    let mut join = harness.join_request("");
    join.requires_known_member_id = false;
    join.protocol_type = Arc::from(protocol_type);
    join.protocols = vec![MemberProtocol { name: Arc::from("range"), metadata: subscription.into() }];
    let waiter = harness.join(join);
    let joined = harness.join_answer(waiter).unwrap();
    let sync = super::super::event::Sync {
        waiter: harness.waiter(),
        member_id: Arc::clone(&joined.member_id),
        group_instance_id: None,
        generation: joined.generation,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
    };
    let waiter = harness.sync_with(sync);
    assert_eq!(harness.sync_answer(waiter).unwrap().error, ErrorCode::None);
    joined.member_id
}

/// A subscription to `orders`.
const ORDERS: &[u8] = b"\x00\x00\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff";

fn commit_orders_and_stock(harness: &mut Harness, member_id: &str, generation: i32) {
    let mut commit = harness.commit_request(member_id, generation, 7);
    commit.offsets.push(partition_offset("stock", 0, 9, ""));
    harness.commit_with(commit);
}

#[test]
fn a_deleted_group_is_gone_with_its_offsets_once_that_is_durable() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.commit(&leader, generation, 7);
    harness.leave(&[(&leader, None), (&follower, None)]);
    harness.is_log_prompt = false;
    let waiter = harness.delete_group();
    assert_eq!(harness.answer(waiter), None);
    assert_eq!(harness.committed(), Some(7));
    harness.flush();
    assert_eq!(harness.deletion(waiter), ErrorCode::None);
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.list().is_empty());
    harness.restart();
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.list().is_empty());
}

#[test]
fn a_group_with_members_is_not_deleted() {
    let mut harness = Harness::new();
    let (leader, waiter) = harness.join_new();
    let deletion = harness.delete_group();
    assert_eq!(harness.deletion(deletion), ErrorCode::NonEmptyGroup);
    let generation = harness.join_answer(waiter).unwrap().generation;
    harness.sync(&leader, generation, &[]);
    let deletion = harness.delete_group();
    assert_eq!(harness.deletion(deletion), ErrorCode::NonEmptyGroup);
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
}

#[test]
fn a_group_that_does_not_exist_or_is_being_deleted_is_not_found() {
    let mut harness = Harness::new();
    let waiter = harness.delete_group();
    assert_eq!(harness.deletion(waiter), ErrorCode::GroupIdNotFound);
    harness.commit("", -1, 7);
    harness.is_log_prompt = false;
    let first = harness.delete_group();
    let second = harness.delete_group();
    assert_eq!(harness.deletion(second), ErrorCode::GroupIdNotFound);
    let offsets = harness.delete_offsets(&[("orders", 0)]);
    assert_eq!(harness.offset_deletions(offsets), Err(ErrorCode::GroupIdNotFound));
    harness.flush();
    assert_eq!(harness.deletion(first), ErrorCode::None);
}

#[test]
fn commits_on_their_way_are_deleted_with_their_group() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let commits = [harness.commit("", -1, 7), harness.commit_in_transaction(1, 8)];
    let waiter = harness.delete_group();
    let late = harness.commit("", -1, 9);
    assert_eq!(harness.commit_results(late), Some(vec![ErrorCode::CoordinatorNotAvailable]));
    harness.flush();
    assert_eq!(commits.map(|commit| harness.commit_results(commit)), [(); 2].map(|()| Some(vec![ErrorCode::None])));
    assert_eq!(harness.deletion(waiter), ErrorCode::None);
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), None);
    harness.restart();
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.list().is_empty());
}

#[test]
fn a_deletion_that_waits_for_a_refused_commit_goes_on() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    harness.is_log_prompt = false;
    let persist = {
        harness.commit_in_transaction(1, 8);
        harness.in_flight.pop_back().unwrap().1
    };
    harness.journal.pop();
    let waiter = harness.delete_group();
    let mut actions = Vec::new();
    harness.shard.persist_refused(persist, ErrorCode::InvalidProducerEpoch, harness.now, &mut actions);
    harness.settle(actions);
    harness.flush();
    assert_eq!(harness.deletion(waiter), ErrorCode::None);
}

#[test]
fn a_deletion_that_cannot_be_written_is_answered_with_why() {
    for is_waiting in [true, false] {
        let mut harness = Harness::new();
        harness.commit("", -1, 7);
        harness.is_log_prompt = false;
        if is_waiting {
            harness.commit("", -1, 8);
        }
        let waiter = harness.delete_group();
        let mut actions = Vec::new();
        for (_, persist) in std::mem::take(&mut harness.in_flight) {
            harness.shard.persist_failed(persist, ErrorCode::NotCoordinator, &mut actions);
        }
        harness.shard.unload(ErrorCode::NotCoordinator, harness.now, &mut actions);
        harness.settle(actions);
        assert_eq!(harness.deletion(waiter), ErrorCode::NotCoordinator);
        harness.restart();
        assert_eq!(harness.committed(), Some(7));
    }
}

#[test]
fn offsets_of_topics_that_members_do_not_read_are_deleted() {
    let mut harness = Harness::new();
    let member_id = only_member(&mut harness, "consumer", ORDERS);
    commit_orders_and_stock(&mut harness, &member_id, 1);
    harness.is_log_prompt = false;
    let waiter = harness.delete_offsets(&[("stock", 0), ("orders", 0), ("stock", 1)]);
    assert_eq!(harness.answer(waiter), None);
    harness.flush();
    let results = harness.offset_deletions(waiter).expect("is done");
    assert_eq!(results, [ErrorCode::None, ErrorCode::GroupSubscribedToTopic, ErrorCode::None]);
    harness.restart();
    assert_eq!(harness.committed(), Some(7));
    assert!(harness.shard.committed(GROUP, "stock", 0).is_none());
}

#[test]
fn while_it_cannot_be_known_what_members_read_they_read_everything() {
    let mut harness = Harness::new();
    let member_id = only_member(&mut harness, "consumer", b"no subscription");
    commit_orders_and_stock(&mut harness, &member_id, 1);
    let waiter = harness.delete_offsets(&[("stock", 0)]);
    assert_eq!(harness.offset_deletions(waiter), Ok(vec![ErrorCode::GroupSubscribedToTopic]));
}

#[test]
fn offsets_of_a_group_of_another_kind_are_deleted_only_while_nobody_is_in_it() {
    let mut harness = Harness::new();
    let member_id = only_member(&mut harness, "connect", ORDERS);
    commit_orders_and_stock(&mut harness, &member_id, 1);
    let waiter = harness.delete_offsets(&[("stock", 0)]);
    assert_eq!(harness.offset_deletions(waiter), Err(ErrorCode::NonEmptyGroup));
    harness.leave(&[(&member_id, None)]);
    let waiter = harness.delete_offsets(&[("stock", 0), ("orders", 0)]);
    assert_eq!(harness.offset_deletions(waiter), Ok(vec![ErrorCode::None; 2]));
    assert_eq!(harness.committed(), None);
}

#[test]
fn offsets_of_a_group_that_does_not_exist_are_not_deleted() {
    let mut harness = Harness::new();
    let waiter = harness.delete_offsets(&[("orders", 0)]);
    assert_eq!(harness.offset_deletions(waiter), Err(ErrorCode::GroupIdNotFound));
}

#[test]
fn offsets_on_their_way_and_pending_ones_are_deleted_too() {
    let mut harness = Harness::new();
    harness.commit_in_transaction(1, 8);
    harness.is_log_prompt = false;
    let mut commit = harness.commit_request("", -1, 0);
    commit.offsets = vec![partition_offset("stock", 0, 9, "")];
    harness.commit_with(commit);
    let waiter = harness.delete_offsets(&[("orders", 0), ("stock", 0)]);
    harness.flush();
    assert_eq!(harness.offset_deletions(waiter), Ok(vec![ErrorCode::None; 2]));
    harness.end_transaction(1, true);
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.committed(GROUP, "stock", 0).is_none());
}

#[test]
fn a_group_deleted_while_its_members_ids_are_handed_out_is_gone_for_them() {
    let mut harness = Harness::new();
    let join = harness.join_request("");
    let waiter = harness.join(join);
    let handed_out = harness.join_answer(waiter).unwrap().member_id;
    let waiter = harness.delete_group();
    assert_eq!(harness.deletion(waiter), ErrorCode::None);
    let tombstone = GroupRecord::Metadata { group_id: Arc::from(GROUP), metadata: None };
    assert_eq!(harness.log.last(), Some(&tombstone));
    let waiter = harness.rejoin(&handed_out);
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::UnknownMemberId);
    assert_eq!(harness.shard.next_deadline(), None);
}
