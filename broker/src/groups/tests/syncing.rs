use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::event::Sync;
use super::super::limits::ASSIGNMENT_BYTES_MAX;
use super::super::record::GroupRecord;
use super::harness::Harness;

#[test]
fn an_assignment_is_handed_out_only_once_it_is_durable() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let (leader, waiter) = harness.join_new();
    let generation = harness.join_answer(waiter).unwrap().generation;
    let waiter = harness.sync(&leader, generation, &[(&leader, "all")]);
    assert_eq!(harness.sync_answer(waiter), None);
    harness.flush();
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "all");
}

#[test]
fn an_assignment_that_becomes_durable_after_the_next_rebalance_began_is_not_handed_out() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let (leader, waiter) = harness.join_new();
    let generation = harness.join_answer(waiter).unwrap().generation;
    let waiter = harness.sync(&leader, generation, &[(&leader, "all")]);
    harness.join_new();
    assert_eq!(harness.sync_answer(waiter).unwrap().error, ErrorCode::RebalanceInProgress);
    harness.flush();
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress);
}

#[test]
fn of_a_leader_that_syncs_twice_the_first_assignment_stands() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let (leader, waiter) = harness.join_new();
    let generation = harness.join_answer(waiter).unwrap().generation;
    let first = harness.sync(&leader, generation, &[(&leader, "one")]);
    let second = harness.sync(&leader, generation, &[(&leader, "two")]);
    assert_eq!(harness.sync_answer(first).unwrap().error, ErrorCode::RebalanceInProgress);
    harness.flush();
    assert_eq!(harness.sync_answer(second).unwrap().assignment, "one");
    assert_eq!(harness.log.len(), 1);
}

#[test]
fn a_sync_in_a_stable_group_gets_the_current_assignment() {
    let mut harness = Harness::new();
    let (_, follower, generation) = harness.stable_pair();
    let waiter = harness.sync(&follower, generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
}

#[test]
fn syncs_of_others_than_current_members_are_refused() {
    let mut harness = Harness::new();
    let (leader, _, generation) = harness.stable_pair();
    let mut check = |change: &dyn Fn(&mut Sync), error: ErrorCode| {
        let mut sync = Sync {
            waiter: harness.waiter(),
            member_id: Arc::clone(&leader),
            group_instance_id: None,
            generation,
            protocol_type: Some(Arc::from("consumer")),
            protocol_name: Some(Arc::from("range")),
            assignments: Vec::new(),
        };
        change(&mut sync);
        let waiter = harness.sync_with(sync);
        assert_eq!(harness.sync_answer(waiter).unwrap().error, error);
    };
    check(&|_| {}, ErrorCode::None);
    check(&|sync| sync.member_id = Arc::from("made-up"), ErrorCode::UnknownMemberId);
    check(&|sync| sync.group_instance_id = Some(Arc::from("made-up")), ErrorCode::UnknownMemberId);
    check(&|sync| sync.generation += 1, ErrorCode::IllegalGeneration);
    check(&|sync| sync.generation -= 1, ErrorCode::IllegalGeneration);
    check(&|sync| sync.protocol_type = Some(Arc::from("connect")), ErrorCode::InconsistentGroupProtocol);
    check(&|sync| sync.protocol_name = Some(Arc::from("sticky")), ErrorCode::InconsistentGroupProtocol);
    check(&|sync| sync.protocol_name = None, ErrorCode::None);
    check(
        &|sync| sync.assignments = vec![(String::new(), vec![0; ASSIGNMENT_BYTES_MAX + 1].into())],
        ErrorCode::UnknownServerError,
    );
}

#[test]
fn a_sync_while_members_rejoin_is_told_to_rejoin() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.rejoin(&leader);
    let waiter = harness.sync(&follower, generation, &[]);
    assert_eq!(harness.sync_answer(waiter).unwrap().error, ErrorCode::RebalanceInProgress);
}

#[test]
fn a_member_the_leader_forgot_gets_an_empty_assignment() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.rejoin(&leader);
    harness.rejoin(&follower);
    let waiter = harness.sync(&follower, generation + 1, &[]);
    harness.sync(&leader, generation + 1, &[(&leader, "all"), ("made-up", "nothing")]);
    let answer = harness.sync_answer(waiter).unwrap();
    assert_eq!((answer.error, answer.assignment.len()), (ErrorCode::None, 0));
}

#[test]
fn a_leader_that_never_assigns_is_removed_after_the_rebalance_timeout() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.rejoin(&leader);
    harness.rejoin(&follower);
    let waiter = harness.sync(&follower, generation + 1, &[]);
    for _ in 0..12 {
        // It lives, but does not sync.
        assert_eq!(harness.heartbeat(&leader, generation + 1), ErrorCode::None);
        harness.pass(Duration::from_secs(5));
    }
    assert_eq!(harness.sync_answer(waiter).unwrap().error, ErrorCode::RebalanceInProgress);
    assert_eq!(harness.heartbeat(&leader, generation + 1), ErrorCode::UnknownMemberId);
    let waiter = harness.rejoin(&follower);
    assert_eq!(harness.join_answer(waiter).unwrap().leader, follower);
}

#[test]
fn waiting_for_the_leader_keeps_a_member_alive_past_its_session_timeout() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.rejoin(&leader);
    harness.rejoin(&follower);
    let waiter = harness.sync(&follower, generation + 1, &[]);
    for _ in 0..5 {
        harness.pass(Duration::from_secs(9));
        assert_eq!(harness.heartbeat(&leader, generation + 1), ErrorCode::None);
    }
    harness.sync(&leader, generation + 1, &[(&follower, "right")]);
    assert_eq!(harness.sync_answer(waiter).unwrap().assignment, "right");
}

#[test]
fn what_is_written_is_the_generation_with_its_assignments() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let Some(GroupRecord::Metadata { metadata: Some(metadata), .. }) = harness.log.last() else {
        panic!("the last record is the group's: {:?}", harness.log);
    };
    assert_eq!(metadata.generation, generation);
    assert_eq!(metadata.leader.as_ref(), Some(&leader));
    let assignment_of = |member_id: &Arc<str>| {
        metadata.members.iter().find(|member| member.member_id == *member_id).map(|member| member.assignment.clone())
    };
    assert_eq!(assignment_of(&leader).unwrap(), "left");
    assert_eq!(assignment_of(&follower).unwrap(), "right");
}
