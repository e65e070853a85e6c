use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::description::GroupDescription;
use super::harness::{GROUP, Harness};

fn describe(harness: &Harness) -> GroupDescription {
    let group = harness.shard.describe(GROUP).expect("exists");
    let listed = harness.shard.list();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].state, &listed[0].protocol_type), (group.state, &group.protocol_type));
    group
}

#[test]
fn a_stable_group_is_described_with_what_its_members_bring_and_get() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    let group = describe(&harness);
    assert_eq!((group.state.name(), &*group.protocol_type, &*group.protocol_name), ("Stable", "consumer", "range"));
    assert_eq!(group.members.len(), 2);
    for member in &group.members {
        assert_eq!((&*member.client_id, &*member.client_host), ("client", "/127.0.0.1"));
        assert_eq!(member.metadata, "by range");
    }
    let assignment = |id: &Arc<str>| &group.members.iter().find(|member| member.member_id == *id).unwrap().assignment;
    assert_eq!((&assignment(&leader)[..], &assignment(&follower)[..]), (&b"left"[..], &b"right"[..]));
}

#[test]
fn while_a_group_rebalances_only_its_members_names_are_told() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    harness.rejoin(&leader);
    let preparing = describe(&harness);
    assert_eq!((preparing.state.name(), &*preparing.protocol_name), ("PreparingRebalance", ""));
    harness.rejoin(&follower);
    let completing = describe(&harness);
    assert_eq!((completing.state.name(), &*completing.protocol_name), ("CompletingRebalance", ""));
    for group in [preparing, completing] {
        assert_eq!((&*group.protocol_type, group.members.len()), ("consumer", 2));
        assert!(group.members.iter().all(|member| member.metadata.is_empty() && member.assignment.is_empty()));
    }
}

#[test]
fn an_assignment_that_is_not_durable_is_not_shown() {
    let mut harness = Harness::new();
    let (leader, waiter) = harness.join_new();
    let generation = harness.join_answer(waiter).unwrap().generation;
    harness.is_log_prompt = false;
    harness.sync(&leader, generation, &[(&leader, "all")]);
    assert_eq!(describe(&harness).state.name(), "CompletingRebalance");
    harness.flush();
    assert_eq!(describe(&harness).state.name(), "Stable");
}

#[test]
fn a_group_that_was_left_keeps_its_protocol_type_over_a_restart() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    harness.leave(&[(&leader, None), (&follower, None)]);
    for _ in 0..2 {
        let group = describe(&harness);
        assert_eq!((group.state.name(), &*group.protocol_type, &*group.protocol_name), ("Empty", "consumer", ""));
        assert!(group.members.is_empty());
        harness.restart();
    }
}

#[test]
fn a_group_is_shown_once_its_first_commit_is_durable() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    harness.commit("", -1, 7);
    assert!(harness.shard.describe(GROUP).is_none());
    assert!(harness.shard.list().is_empty());
    harness.flush();
    let group = describe(&harness);
    assert_eq!((group.state.name(), &*group.protocol_type), ("Empty", ""));
}

#[test]
fn a_group_that_is_being_deleted_is_not_shown() {
    let mut harness = Harness::new();
    harness.commit("", -1, 7);
    harness.is_log_prompt = false;
    harness.delete_group();
    assert!(harness.shard.describe(GROUP).is_none());
    assert!(harness.shard.list().is_empty());
    assert_eq!(harness.heartbeat("any", 0), ErrorCode::CoordinatorNotAvailable);
}
