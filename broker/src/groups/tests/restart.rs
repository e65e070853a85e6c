use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::limits::GroupLimits;
use super::harness::Harness;

#[test]
fn a_stable_group_goes_on_over_a_restart() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let waiter = harness.commit(&leader, generation, 7);
    assert!(harness.commit_results(waiter).is_some());
    harness.restart();
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
    assert_eq!(harness.committed(), Some(7));
    let waiter = harness.sync(&follower, generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
    let waiter = harness.rejoin(&follower);
    assert_eq!(harness.join_answer(waiter).unwrap().generation, generation, "an unchanged follower need not wait");
}

#[test]
fn members_that_do_not_come_back_after_a_restart_are_removed() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.restart();
    harness.pass(Duration::from_secs(9));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
    harness.pass(Duration::from_secs(2));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::UnknownMemberId);
}

#[test]
fn a_generation_that_was_not_settled_is_gone_after_a_restart_and_its_members_rejoin() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.is_log_prompt = false;
    harness.rejoin(&leader);
    harness.rejoin(&follower);
    harness.sync(&leader, generation + 1, &[]);
    harness.restart();
    assert_eq!(harness.heartbeat(&leader, generation + 1), ErrorCode::IllegalGeneration);
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None, "the old one stands");
}

#[test]
fn an_empty_group_keeps_counting_its_generations_after_a_restart() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.leave(&[(&leader, None), (&follower, None)]);
    harness.restart();
    let (_, waiter) = harness.join_new();
    assert_eq!(harness.join_answer(waiter).unwrap().generation, generation + 2);
}

#[test]
fn a_group_larger_than_a_lowered_limit_rebalances_to_it() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.limits = std::sync::Arc::new(GroupLimits { group_size_max: 1, ..GroupLimits::default() });
    harness.restart();
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress);
    let first = harness.rejoin(&follower);
    let second = harness.rejoin(&leader);
    assert_eq!(harness.join_answer(second).unwrap().error, ErrorCode::GroupMaxSizeReached);
    assert_eq!(harness.join_answer(first).unwrap().members.len(), 1);
}
