use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::record::GroupRecord;
use super::harness::Harness;

#[test]
fn when_a_member_leaves_the_others_rebalance_at_once() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let waiter = harness.leave(&[(&leader, None)]);
    assert_eq!(harness.answer(waiter), Some(Answer::Leave(vec![ErrorCode::None])));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::UnknownMemberId);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::RebalanceInProgress);
    let waiter = harness.rejoin(&follower);
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!((answer.generation, answer.leader), (generation + 1, follower));
}

#[test]
fn the_last_to_leave_is_answered_once_the_empty_group_is_durable() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.is_log_prompt = false;
    let waiter = harness.leave(&[(&leader, None), (&follower, None)]);
    assert_eq!(harness.answer(waiter), None);
    harness.flush();
    assert_eq!(harness.answer(waiter), Some(Answer::Leave(vec![ErrorCode::None, ErrorCode::None])));
    let Some(GroupRecord::Metadata { metadata: Some(metadata), .. }) = harness.log.last() else {
        panic!("the empty group is written");
    };
    assert_eq!((metadata.generation, metadata.members.len()), (generation + 1, 0));
    assert_eq!(metadata.protocol_type, Arc::from("consumer"));
}

#[test]
fn each_member_named_gets_a_result_of_its_own() {
    let mut harness = Harness::new();
    let (leader, ..) = harness.stable_pair();
    let waiter =
        harness.leave(&[("made-up", None), (&leader, None), (&leader, None), ("", Some("made-up")), ("", None)]);
    assert_eq!(
        harness.answer(waiter),
        Some(Answer::Leave(vec![
            ErrorCode::UnknownMemberId,
            ErrorCode::None,
            ErrorCode::UnknownMemberId,
            ErrorCode::UnknownMemberId,
            ErrorCode::UnknownMemberId,
        ]))
    );
}

#[test]
fn leaving_a_group_that_does_not_exist_is_an_unknown_member() {
    let mut harness = Harness::new();
    let waiter = harness.leave(&[("made-up", None)]);
    assert_eq!(harness.answer(waiter), Some(Answer::Leave(vec![ErrorCode::UnknownMemberId])));
}

#[test]
fn a_member_id_given_back_unused_ends_the_wait_for_it() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let join = harness.join_request("");
    let pending = harness.join(join);
    let pending_id = harness.join_answer(pending).unwrap().member_id;
    harness.rejoin(&leader);
    let follower_waiter = harness.rejoin(&follower);
    assert_eq!(harness.join_answer(follower_waiter), None);
    harness.leave(&[(&pending_id, None)]);
    assert_eq!(harness.join_answer(follower_waiter).unwrap().generation, generation + 1);
}

#[test]
fn a_member_that_leaves_while_its_join_is_parked_has_that_answered() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    let parked = harness.rejoin(&leader);
    harness.leave(&[(&leader, None)]);
    let answer = harness.join_answer(parked).unwrap();
    assert_eq!((answer.error, &*answer.member_id), (ErrorCode::UnknownMemberId, ""));
    let waiter = harness.rejoin(&follower);
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::None);
}

#[test]
fn silent_members_are_removed_after_their_session_timeout() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    harness.pass(Duration::from_secs(6));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
    harness.pass(Duration::from_secs(6));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_whose_members_all_vanish_while_rejoining_becomes_empty() {
    let mut harness = Harness::new();
    let (leader, ..) = harness.stable_pair();
    let parked = harness.rejoin(&leader);
    // Nobody heartbeats or rejoins, and the leader's connection is gone too.
    harness.pass(Duration::from_secs(3600));
    assert!(harness.join_answer(parked).is_some());
    let Some(GroupRecord::Metadata { metadata: Some(metadata), .. }) = harness.log.last() else {
        panic!("the empty group is written");
    };
    assert!(metadata.members.is_empty());
    assert_eq!(harness.shard.next_deadline(), None, "nothing is left to wait for");
}

#[test]
fn heartbeats_tell_a_member_where_it_stands() {
    let mut harness = Harness::new();
    assert_eq!(harness.heartbeat("made-up", 1), ErrorCode::UnknownMemberId);
    let (leader, _, generation) = harness.stable_pair();
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
    assert_eq!(harness.heartbeat(&leader, generation - 1), ErrorCode::IllegalGeneration);
    assert_eq!(harness.heartbeat(&leader, generation + 1), ErrorCode::IllegalGeneration);
    assert_eq!(harness.heartbeat("made-up", generation), ErrorCode::UnknownMemberId);
    let heartbeat = super::super::event::Heartbeat { member_id: leader, group_instance_id: None, generation };
    assert_eq!(harness.shard.heartbeat("", &heartbeat, harness.now), ErrorCode::InvalidGroupId);
}

#[test]
fn every_group_has_deadlines_of_its_own() {
    let mut harness = Harness::new();
    let mut members = Vec::new();
    for (index, name) in ["first", "second", "third"].into_iter().enumerate() {
        let mut join = harness.join_request("");
        join.requires_known_member_id = false;
        join.session_timeout_ms = 30_000 - 10_000 * i32::try_from(index).unwrap();
        let group_id = Arc::from(name);
        let mut actions = Vec::new();
        harness.shard.join(&group_id, &join, harness.now, &mut actions);
        harness.settle(actions);
        let answer = harness.join_answer(join.waiter).unwrap();
        members.push((group_id, answer.member_id));
    }
    for alive in [2, 1, 0] {
        harness.pass(Duration::from_millis(10_001));
        let is_known = |harness: &mut Harness, (group_id, member_id): &(Arc<str>, Arc<str>)| {
            let heartbeat = super::super::event::Heartbeat {
                member_id: Arc::clone(member_id),
                group_instance_id: None,
                generation: 0,
            };
            harness.shard.heartbeat(group_id, &heartbeat, harness.now) != ErrorCode::UnknownMemberId
        };
        let known = members.iter().filter(|member| is_known(&mut harness, member)).count();
        assert_eq!(known, alive);
    }
}
