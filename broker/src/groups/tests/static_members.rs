use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::WaiterId;
use super::harness::{Harness, protocols};

pub(super) fn join_static(harness: &mut Harness, instance_id: &str, member_id: &str) -> WaiterId {
    let mut join = harness.join_request(member_id);
    join.group_instance_id = Some(Arc::from(instance_id));
    harness.join(join)
}

/// Static members `one` (the leader) and `two` in a stable group: their ids and the generation.
pub(super) fn stable_statics(harness: &mut Harness) -> (Arc<str>, Arc<str>, i32) {
    let waiter = join_static(harness, "one", "");
    let one = harness.join_answer(waiter).unwrap().member_id;
    let two_waiter = join_static(harness, "two", "");
    let one_waiter = join_static(harness, "one", &one);
    let generation = harness.join_answer(one_waiter).unwrap().generation;
    let two = harness.join_answer(two_waiter).unwrap().member_id;
    harness.sync(&one, generation, &[(&one, "left"), (&two, "right")]);
    let waiter = harness.sync(&two, generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
    (one, two, generation)
}

#[test]
fn a_static_member_needs_no_second_request_for_its_id() {
    let mut harness = Harness::new();
    let waiter = join_static(&mut harness, "one", "");
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!(answer.error, ErrorCode::None);
    assert!(answer.member_id.starts_with("one-"));
    assert_eq!(answer.members[0].group_instance_id.as_deref(), Some("one"));
}

#[test]
fn a_static_member_that_returns_keeps_its_assignment_without_a_rebalance() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let waiter = join_static(&mut harness, "two", "");
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation));
    assert_ne!(answer.member_id, two);
    assert!(!answer.skip_assignment);
    assert_eq!(harness.heartbeat(&one, generation), ErrorCode::None);
    let waiter = harness.sync(&answer.member_id, generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
}

#[test]
fn the_older_of_two_with_one_instance_id_is_fenced() {
    let mut harness = Harness::new();
    let (_, two, generation) = stable_statics(&mut harness);
    let waiter = join_static(&mut harness, "two", "");
    let newer = harness.join_answer(waiter).unwrap().member_id;
    assert_eq!(harness.heartbeat_static(&two, Some("two"), generation), ErrorCode::FencedInstanceId);
    assert_eq!(harness.heartbeat_static(&newer, Some("two"), generation), ErrorCode::None);
    let mut commit = harness.commit_request(&two, generation, 1);
    commit.group_instance_id = Some(Arc::from("two"));
    let waiter = harness.commit_with(commit);
    assert_eq!(harness.commit_results(waiter), Some(vec![ErrorCode::FencedInstanceId]));
    let waiter = join_static(&mut harness, "two", &two);
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::FencedInstanceId);
    let waiter = harness.leave(&[(&two, Some("two"))]);
    assert_eq!(harness.answer(waiter), Some(Answer::Leave(vec![ErrorCode::FencedInstanceId])));
}

#[test]
fn a_returning_static_leader_is_kept_from_assigning_anew() {
    let mut harness = Harness::new();
    let (one, _, generation) = stable_statics(&mut harness);
    let waiter = join_static(&mut harness, "one", "");
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!(answer.generation, generation);
    assert_eq!(answer.leader, answer.member_id);
    assert!(answer.skip_assignment, "from version 9 it is told so");
    assert_eq!(answer.members.len(), 2);

    let mut join = harness.join_request("");
    join.group_instance_id = Some(Arc::from("one"));
    join.supports_skip_assignment = false;
    let waiter = harness.join(join);
    let older = harness.join_answer(waiter).unwrap();
    assert_ne!(older.leader, older.member_id, "before, it is told that another leads");
    assert_ne!(older.leader, one);
    assert!(older.members.is_empty() && !older.skip_assignment);
}

#[test]
fn a_new_id_is_told_only_once_it_is_durable() {
    let mut harness = Harness::new();
    stable_statics(&mut harness);
    harness.is_log_prompt = false;
    let waiter = join_static(&mut harness, "two", "");
    assert_eq!(harness.join_answer(waiter), None);
    harness.flush();
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::None);
}

#[test]
fn a_rebalance_that_begins_before_the_new_id_is_durable_takes_the_member_along() {
    let mut harness = Harness::new();
    let (one, _, generation) = stable_statics(&mut harness);
    harness.is_log_prompt = false;
    let two_waiter = join_static(&mut harness, "two", "");
    let one_waiter = join_static(&mut harness, "one", &one);
    let answer = harness.join_answer(two_waiter).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation + 1));
    assert_eq!(harness.join_answer(one_waiter).unwrap().members.len(), 2);
    harness.flush();
}

#[test]
fn a_parked_request_of_the_older_is_fenced_at_once() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let parked_join = join_static(&mut harness, "one", &one);
    join_static(&mut harness, "one", "");
    let answer = harness.join_answer(parked_join).unwrap();
    assert_eq!((answer.error, answer.member_id), (ErrorCode::FencedInstanceId, one));
    join_static(&mut harness, "two", &two);
    let parked_sync = harness.sync(&two, generation + 1, &[]);
    assert_eq!(harness.sync_answer(parked_sync), None);
    join_static(&mut harness, "two", "");
    assert_eq!(harness.sync_answer(parked_sync).unwrap().error, ErrorCode::FencedInstanceId);
}

#[test]
fn a_static_member_that_returns_while_the_leader_assigns_makes_the_group_rebalance() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    join_static(&mut harness, "one", &one);
    join_static(&mut harness, "two", &two);
    assert_eq!(harness.heartbeat(&one, generation + 1), ErrorCode::None);
    let waiter = join_static(&mut harness, "two", "");
    assert_eq!(harness.heartbeat(&one, generation + 1), ErrorCode::RebalanceInProgress);
    join_static(&mut harness, "one", &one);
    assert_eq!(harness.join_answer(waiter).unwrap().generation, generation + 2);
}

#[test]
fn a_static_member_that_returns_with_another_strategy_makes_the_group_rebalance() {
    let mut harness = Harness::new();
    let mut join = harness.join_request("");
    join.group_instance_id = Some(Arc::from("one"));
    join.protocols = protocols(&["range", "sticky"]);
    let waiter = harness.join(join);
    let one = harness.join_answer(waiter).unwrap().member_id;
    harness.sync(&one, 1, &[]);
    assert_eq!(harness.heartbeat(&one, 1), ErrorCode::None);
    let mut join = harness.join_request("");
    join.group_instance_id = Some(Arc::from("one"));
    join.protocols = protocols(&["sticky"]);
    let waiter = harness.join(join);
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!((answer.generation, answer.protocol_name.as_deref()), (2, Some("sticky")));
}

#[test]
fn a_static_member_keeps_its_place_over_a_rebalance_until_its_session_ends() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let mut join = harness.join_request(&one);
    join.group_instance_id = Some(Arc::from("one"));
    join.rebalance_timeout_ms = 5_000;
    let waiter = harness.join(join);
    // Static members wait out the longest rebalance timeout, here that of `two`: it lives, and does not rejoin.
    for _ in 0..12 {
        harness.pass(Duration::from_secs(5));
        let _ = harness.heartbeat_static(&two, Some("two"), generation);
    }
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!(answer.members.len(), 2, "it is still counted on");
    harness.pass(Duration::from_secs(11));
    assert_eq!(harness.heartbeat_static(&two, Some("two"), generation + 1), ErrorCode::UnknownMemberId);
}

#[test]
fn an_administrator_removes_a_static_member_by_its_instance_id() {
    let mut harness = Harness::new();
    let (one, _, generation) = stable_statics(&mut harness);
    let waiter = harness.leave(&[("", Some("two"))]);
    assert_eq!(harness.answer(waiter), Some(Answer::Leave(vec![ErrorCode::None])));
    assert_eq!(harness.heartbeat(&one, generation), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_restart_fences_nobody_by_itself() {
    let mut harness = Harness::new();
    let (_, two, generation) = stable_statics(&mut harness);
    let waiter = join_static(&mut harness, "two", "");
    let newer = harness.join_answer(waiter).unwrap().member_id;
    harness.restart();
    assert_eq!(harness.heartbeat_static(&newer, Some("two"), generation), ErrorCode::None);
    assert_eq!(harness.heartbeat_static(&two, Some("two"), generation), ErrorCode::FencedInstanceId);
}

#[test]
fn a_static_member_whose_new_id_was_not_yet_written_comes_again_after_a_restart() {
    let mut harness = Harness::new();
    let (one, _, generation) = stable_statics(&mut harness);
    join_static(&mut harness, "one", &one);
    let waiter = join_static(&mut harness, "two", "");
    let newer = harness.join_answer(waiter).unwrap().member_id;
    // The process dies before the leader's assignment, and with it the new id, is written.
    harness.restart();
    assert_eq!(harness.heartbeat_static(&newer, Some("two"), generation + 1), ErrorCode::UnknownMemberId);
    let waiter = join_static(&mut harness, "two", "");
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::None);
}

#[test]
fn a_new_id_that_becomes_durable_amid_a_rebalance_does_not_go_back_to_the_old_generation() {
    let mut harness = Harness::new();
    let (one, _, generation) = stable_statics(&mut harness);
    harness.is_log_prompt = false;
    let two_waiter = join_static(&mut harness, "two", "");
    harness.join_new();
    harness.flush();
    assert_eq!(harness.join_answer(two_waiter), None, "it has joined the next one already");
    join_static(&mut harness, "one", &one);
    assert_eq!(harness.join_answer(two_waiter).unwrap().generation, generation + 1);
}

#[test]
fn a_static_leader_that_does_not_rejoin_in_time_keeps_its_place_but_does_not_lead() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    let (_, newcomer) = harness.join_new();
    let two_waiter = join_static(&mut harness, "two", &two);
    for _ in 0..12 {
        harness.pass(Duration::from_secs(5));
        let _ = harness.heartbeat_static(&one, Some("one"), generation);
    }
    let answer = harness.join_answer(two_waiter).unwrap();
    assert_eq!((&answer.leader, answer.members.len()), (&two, 3));
    assert_eq!(harness.join_answer(newcomer).unwrap().leader, two);
}

#[test]
fn a_static_member_that_returns_before_it_fetched_its_assignment_may_still_do_so() {
    let mut harness = Harness::new();
    let (one, two, generation) = stable_statics(&mut harness);
    join_static(&mut harness, "one", &one);
    join_static(&mut harness, "two", &two);
    harness.sync(&one, generation + 1, &[(&two, "right")]);
    let waiter = join_static(&mut harness, "two", "");
    let newer = harness.join_answer(waiter).unwrap();
    assert_eq!(newer.generation, generation + 1);
    let waiter = harness.sync(&newer.member_id, generation + 1, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
    for _ in 0..15 {
        harness.pass(Duration::from_secs(5));
        assert_eq!(harness.heartbeat(&one, generation + 1), ErrorCode::None, "nobody is waited for");
        assert_eq!(harness.heartbeat(&newer.member_id, generation + 1), ErrorCode::None);
    }
}
