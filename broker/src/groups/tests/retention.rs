use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::event::MemberProtocol;
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::harness::{GROUP, Harness, partition_offset};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Days pass, and every day offsets are looked through.
fn pass_days(harness: &mut Harness, days: u32) {
    for _ in 0..days {
        harness.pass(DAY);
        harness.expire_offsets();
    }
}

#[test]
fn offsets_without_members_expire_after_their_commit_and_the_group_with_the_last() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    pass_days(&mut harness, 6);
    assert_eq!(harness.committed(), Some(7));
    pass_days(&mut harness, 1);
    assert_eq!(harness.committed(), None);
    assert_eq!(
        harness.log.last(),
        Some(&GroupRecord::Metadata { group_id: Arc::from(GROUP), metadata: None }),
        "the group is deleted too"
    );
    harness.restart();
    assert_eq!(harness.committed(), None);
}

#[test]
fn a_new_commit_starts_the_retention_anew() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    pass_days(&mut harness, 6);
    harness.commit("", -1, 8);
    pass_days(&mut harness, 6);
    assert_eq!(harness.committed(), Some(8));
}

#[test]
fn offsets_of_a_group_with_members_count_from_when_it_became_empty() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.commit(&leader, generation, 7);
    for _ in 0..9 * 24 * 60 * 60 / 9 {
        harness.pass(Duration::from_secs(9));
        assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
        assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::None);
    }
    harness.expire_offsets();
    assert_eq!(harness.committed(), Some(7), "the subscriptions cannot be read here, so all topics may be in use");
    harness.leave(&[(&leader, None), (&follower, None)]);
    pass_days(&mut harness, 6);
    assert_eq!(harness.committed(), Some(7));
    pass_days(&mut harness, 1);
    assert_eq!(harness.committed(), None);
}

#[test]
fn a_working_group_loses_old_offsets_of_topics_it_no_longer_reads() {
    let mut harness = Harness::new();
    let mut join = harness.join_request("");
    join.requires_known_member_id = false;
    let subscription = b"\x00\x00\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff".as_slice();
    join.protocols = vec![MemberProtocol { name: Arc::from("range"), metadata: subscription.into() }];
    let waiter = harness.join(join);
    let member_id = harness.join_answer(waiter).unwrap().member_id;
    harness.sync(&member_id, 1, &[]);
    let mut commit = harness.commit_request(&member_id, 1, 7);
    commit.offsets.push(partition_offset("stock", 0, 9, ""));
    harness.commit_with(commit);
    for _ in 0..8 * 24 * 60 * 60 / 9 {
        harness.pass(Duration::from_secs(9));
        assert_eq!(harness.heartbeat(&member_id, 1), ErrorCode::None);
    }
    harness.expire_offsets();
    assert_eq!(harness.committed(), Some(7));
    assert!(harness.shard.committed(GROUP, "stock", 0).is_none());
}

#[test]
fn a_commit_on_its_way_is_not_undone_by_expiry() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    harness.pass(7 * DAY);
    harness.is_log_prompt = false;
    harness.commit("", -1, 8);
    harness.expire_offsets();
    harness.flush();
    assert_eq!(harness.committed(), Some(8));
}

#[test]
fn nobody_joins_or_commits_while_a_group_is_being_deleted() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    harness.pass(7 * DAY);
    harness.is_log_prompt = false;
    harness.expire_offsets();
    let join = harness.join_request("");
    let waiter = harness.join(join);
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::CoordinatorNotAvailable);
    let waiter = harness.commit("", -1, 8);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::CoordinatorNotAvailable]));
    harness.is_log_prompt = true;
    harness.flush();
    let (_, waiter) = harness.join_new();
    assert_eq!(harness.join_answer(waiter).unwrap().generation, 1);
}

#[test]
fn a_pass_after_the_wall_clock_jumped_expires_nothing() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    harness.expire_offsets();
    harness.now = Moment { wall_ms: harness.now.wall_ms + 8 * 24 * 60 * 60 * 1000, ..harness.now };
    harness.expire_offsets();
    assert_eq!(harness.committed(), Some(7));
}

#[test]
fn an_empty_group_that_never_committed_is_deleted() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    harness.leave(&[(&leader, None), (&follower, None)]);
    harness.expire_offsets();
    assert_eq!(harness.log.last(), Some(&GroupRecord::Metadata { group_id: Arc::from(GROUP), metadata: None }));
}

#[test]
fn a_retention_the_client_chose_is_kept_to() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("", -1, 7);
    commit.offsets[0].committed.expire_timestamp_ms = Some(harness.now.wall_ms + 60_000);
    harness.commit_with(commit);
    harness.pass(Duration::from_secs(59));
    harness.expire_offsets();
    assert_eq!(harness.committed(), Some(7));
    harness.pass(Duration::from_secs(1));
    harness.expire_offsets();
    assert_eq!(harness.committed(), None);
}

#[test]
fn offsets_of_a_deleted_topic_are_forgotten_and_those_of_others_stay() {
    let mut harness = Harness::new();
    let mut commit = harness.commit_request("", -1, 7);
    commit.offsets.push(partition_offset("orders", 4, 8, ""));
    commit.offsets.push(partition_offset("stock", 0, 9, ""));
    harness.commit_with(commit);
    let mut actions = Vec::new();
    harness.shard.forget_topic("orders", &mut actions);
    harness.settle(actions);
    harness.restart();
    assert_eq!(harness.committed(), None);
    assert!(harness.shard.committed(GROUP, "orders", 4).is_none());
    assert_eq!(harness.shard.committed(GROUP, "stock", 0).map(|committed| committed.offset), Some(9));
}
