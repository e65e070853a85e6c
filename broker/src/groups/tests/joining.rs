use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::limits::{
    GROUP_METADATA_BYTES_MAX, GroupLimits, MEMBER_METADATA_BYTES_MAX, PROTOCOLS_MAX, TEXT_BYTES_MAX,
};
use super::harness::{Harness, protocols};

#[test]
fn a_first_join_from_version_4_is_told_its_member_id_and_asked_to_come_again() {
    let mut harness = Harness::new();
    let join = harness.join_request("");
    let waiter = harness.join(join);
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!(answer.error, ErrorCode::MemberIdRequired);
    assert!(answer.member_id.starts_with("client-"));
    let waiter = harness.rejoin(&answer.member_id);
    let joined = harness.join_answer(waiter).unwrap();
    assert_eq!((joined.error, joined.generation), (ErrorCode::None, 1));
    assert_eq!(joined.leader, answer.member_id);
}

#[test]
fn a_first_join_before_version_4_is_in_at_once() {
    let mut harness = Harness::new();
    let mut join = harness.join_request("");
    join.requires_known_member_id = false;
    let waiter = harness.join(join);
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, 1));
    assert_eq!(answer.members.len(), 1);
}

#[test]
fn the_leader_learns_all_members_and_the_followers_learn_the_leader() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    let leader_waiter = harness.rejoin(&leader);
    let follower_waiter = harness.rejoin(&follower);
    let to_leader = harness.join_answer(leader_waiter).unwrap();
    let to_follower = harness.join_answer(follower_waiter).unwrap();
    let mut told: Vec<Arc<str>> = to_leader.members.iter().map(|member| Arc::clone(&member.member_id)).collect();
    told.sort();
    let mut expected = vec![Arc::clone(&leader), follower];
    expected.sort();
    assert_eq!(told, expected);
    assert_eq!(to_leader.members[0].metadata, "by range");
    assert!(to_follower.members.is_empty());
    assert_eq!(to_follower.leader, leader);
    assert_eq!(to_follower.protocol_name.as_deref(), Some("range"));
}

#[test]
fn a_new_member_makes_a_stable_group_rebalance() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let (newcomer, newcomer_waiter) = harness.join_new();
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::RebalanceInProgress);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::RebalanceInProgress);
    let leader_waiter = harness.rejoin(&leader);
    assert_eq!(harness.join_answer(leader_waiter), None, "one is still missing");
    let follower_waiter = harness.rejoin(&follower);
    for waiter in [newcomer_waiter, leader_waiter, follower_waiter] {
        let answer = harness.join_answer(waiter).unwrap();
        assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation + 1));
        assert_eq!(answer.leader, leader, "the first to join stays leader");
    }
    assert_eq!(harness.heartbeat(&newcomer, generation + 1), ErrorCode::None);
}

#[test]
fn a_follower_that_rejoins_unchanged_is_told_the_current_generation() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let waiter = harness.rejoin(&follower);
    let answer = harness.join_answer(waiter).unwrap();
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation));
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None, "nobody else notices");
}

#[test]
fn a_leader_that_rejoins_makes_the_group_rebalance() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let waiter = harness.rejoin(&leader);
    assert_eq!(harness.join_answer(waiter), None);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_member_that_offers_something_else_makes_the_group_rebalance() {
    let mut harness = Harness::new();
    let (_, follower, generation) = harness.stable_pair();
    let mut join = harness.join_request(&follower);
    join.protocols = protocols(&["sticky", "range"]);
    let waiter = harness.join(join);
    assert_eq!(harness.join_answer(waiter), None);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::RebalanceInProgress);
}

#[test]
fn a_repeated_join_while_the_leader_assigns_gets_the_same_answer() {
    let mut harness = Harness::new();
    let (leader, waiter) = harness.join_new();
    let first = harness.join_answer(waiter).unwrap();
    let waiter = harness.rejoin(&leader);
    assert_eq!(harness.join_answer(waiter), Some(first));
}

/// The strategy chosen when members with these offers join in this order.
fn chosen(offers: &[&[&str]]) -> String {
    let mut harness = Harness::new();
    let mut first = None;
    for offer in offers {
        let mut join = harness.join_request("");
        join.requires_known_member_id = false;
        join.protocols = protocols(offer);
        let waiter = harness.join(join);
        first = first.or_else(|| harness.join_answer(waiter).map(|answer| answer.member_id));
    }
    let mut join = harness.join_request(&first.unwrap());
    join.protocols = protocols(offers[0]);
    let waiter = harness.join(join);
    harness.join_answer(waiter).unwrap().protocol_name.unwrap().to_string()
}

#[test]
fn the_strategy_most_members_prefer_among_those_all_offer_is_chosen() {
    assert_eq!(chosen(&[&["a", "b"], &["b", "a"], &["b", "a"]]), "b", "by two votes to one");
    assert_eq!(chosen(&[&["a", "b", "c"], &["b", "c", "a"], &["d", "b", "c"]]), "b", "not all offer a or d");
    assert_eq!(chosen(&[&["a", "b"], &["b", "a"]]), "a", "of equals, the first member's");
}

#[test]
fn joins_that_no_group_can_take_are_refused() {
    let mut harness = Harness::new();
    let mut check = |change: &dyn Fn(&mut super::super::event::Join), error: ErrorCode| {
        let mut join = harness.join_request("");
        change(&mut join);
        let waiter = harness.join(join);
        assert_eq!(harness.join_answer(waiter).unwrap().error, error);
    };
    check(&|join| join.session_timeout_ms = 5_999, ErrorCode::InvalidSessionTimeout);
    check(&|join| join.session_timeout_ms = 1_800_001, ErrorCode::InvalidSessionTimeout);
    check(&|join| join.session_timeout_ms = -1, ErrorCode::InvalidSessionTimeout);
    check(&|join| join.protocols.clear(), ErrorCode::InconsistentGroupProtocol);
    check(&|join| join.protocol_type = Arc::from(""), ErrorCode::InconsistentGroupProtocol);
    check(&|join| join.member_id = Arc::from("made-up"), ErrorCode::UnknownMemberId);
    check(&|join| join.protocols = vec![join.protocols[0].clone(); PROTOCOLS_MAX + 1], ErrorCode::InvalidRequest);
    check(
        &|join| join.protocols[0].metadata = vec![0; MEMBER_METADATA_BYTES_MAX + 1].into(),
        ErrorCode::InvalidRequest,
    );
    check(&|join| join.client_id = Arc::from("x".repeat(TEXT_BYTES_MAX + 1)), ErrorCode::InvalidRequest);
    check(&|join| join.group_instance_id = Some(Arc::from("x".repeat(TEXT_BYTES_MAX + 1))), ErrorCode::InvalidRequest);
    assert_eq!(harness.shard.next_deadline(), None, "no refused join has left a group behind");
}

#[test]
fn a_group_without_a_name_is_invalid() {
    let mut harness = Harness::new();
    let join = harness.join_request("");
    let mut actions = Vec::new();
    harness.shard.join(&Arc::from(""), &join, harness.now, &mut actions);
    harness.settle(actions);
    assert_eq!(harness.join_answer(join.waiter).unwrap().error, ErrorCode::InvalidGroupId);
}

#[test]
fn a_member_that_shares_nothing_with_the_group_is_refused_and_the_group_stays_as_it_is() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    for (protocol_type, names) in [("consumer", ["other"]), ("connect", ["range"])] {
        let mut join = harness.join_request("");
        join.protocol_type = Arc::from(protocol_type);
        join.protocols = protocols(&names);
        let waiter = harness.join(join);
        assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::InconsistentGroupProtocol);
    }
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::None);
}

#[test]
fn a_full_group_takes_no_new_member() {
    let mut harness = Harness::with_limits(GroupLimits { group_size_max: 2, ..GroupLimits::default() });
    let (leader, _, generation) = harness.stable_pair();
    let mut join = harness.join_request("");
    join.requires_known_member_id = false;
    let waiter = harness.join(join);
    assert_eq!(harness.join_answer(waiter).unwrap().error, ErrorCode::GroupMaxSizeReached);
    assert_eq!(harness.heartbeat(&leader, generation), ErrorCode::None);
}

#[test]
fn those_that_do_not_rejoin_in_time_are_out() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let (newcomer, waiter) = harness.join_new();
    for _ in 0..12 {
        // The follower lives, but does not rejoin.
        harness.pass(Duration::from_secs(5));
        let _ = harness.heartbeat(&follower, generation);
        let _ = harness.heartbeat(&leader, generation);
    }
    let answer = harness.join_answer(waiter).expect("the rebalance timeout is over");
    assert_eq!((answer.error, answer.generation), (ErrorCode::None, generation + 1));
    assert_eq!(answer.leader, newcomer, "the old leader has not come");
    assert_eq!(answer.members.len(), 1);
    assert_eq!(harness.heartbeat(&follower, generation), ErrorCode::UnknownMemberId);
}

#[test]
fn an_unused_member_id_holds_a_rebalance_up_only_for_its_session_timeout() {
    let mut harness = Harness::new();
    let (leader, follower, generation) = harness.stable_pair();
    let join = harness.join_request("");
    let pending = harness.join(join);
    let pending_id = harness.join_answer(pending).unwrap().member_id;
    let leader_waiter = harness.rejoin(&leader);
    let follower_waiter = harness.rejoin(&follower);
    assert_eq!(harness.join_answer(leader_waiter), None, "the id may still be used");
    harness.pass(Duration::from_secs(10));
    assert_eq!(harness.join_answer(leader_waiter).unwrap().generation, generation + 1);
    assert_eq!(harness.join_answer(follower_waiter).unwrap().generation, generation + 1);
    let late = harness.rejoin(&pending_id);
    assert_eq!(harness.join_answer(late).unwrap().error, ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_nobody_came_to_is_forgotten() {
    let mut harness = Harness::new();
    let join = harness.join_request("");
    harness.join(join);
    assert!(harness.shard.next_deadline().is_some());
    harness.pass(Duration::from_secs(10));
    assert_eq!(harness.shard.next_deadline(), None);
    assert_eq!(harness.heartbeat("anyone", 0), ErrorCode::UnknownMemberId);
    assert!(harness.log.is_empty());
}

#[test]
fn the_initial_delay_gathers_members_and_is_prolonged_by_each_newcomer() {
    let limits = GroupLimits { initial_rebalance_delay: Duration::from_secs(3), ..GroupLimits::default() };
    let mut harness = Harness::with_limits(limits);
    let (_, first) = harness.join_new();
    harness.pass(Duration::from_secs(2));
    let (_, second) = harness.join_new();
    harness.pass(Duration::from_secs(2));
    assert_eq!(harness.join_answer(first), None, "the second prolonged the wait by another 3 s");
    harness.pass(Duration::from_secs(2));
    assert_eq!(harness.join_answer(first).unwrap().members.len(), 2);
    assert_eq!(harness.join_answer(second).unwrap().generation, 1);
}

#[test]
fn the_initial_delay_ends_with_the_rebalance_timeout_whoever_still_comes() {
    let limits = GroupLimits { initial_rebalance_delay: Duration::from_secs(3), ..GroupLimits::default() };
    let mut harness = Harness::with_limits(limits);
    let (_, first) = harness.join_new();
    for _ in 0..40 {
        harness.pass(Duration::from_secs(2));
        harness.join_new();
    }
    assert!(harness.join_answer(first).is_some_and(|answer| answer.members.len() >= 29));
}

#[test]
fn a_member_that_joins_twice_at_once_has_its_first_request_answered_too() {
    let mut harness = Harness::new();
    let (leader, follower, _) = harness.stable_pair();
    let first = harness.rejoin(&leader);
    let second = harness.rejoin(&leader);
    assert_eq!(harness.join_answer(first).unwrap().error, ErrorCode::RebalanceInProgress);
    harness.rejoin(&follower);
    assert_eq!(harness.join_answer(second).unwrap().error, ErrorCode::None);
}

#[test]
fn all_members_together_bring_only_so_much_metadata() {
    let mut harness = Harness::new();
    let mut answers = Vec::new();
    for _ in 0..=GROUP_METADATA_BYTES_MAX / MEMBER_METADATA_BYTES_MAX {
        let mut join = harness.join_request("");
        join.requires_known_member_id = false;
        join.protocols[0].metadata = vec![0; MEMBER_METADATA_BYTES_MAX].into();
        let waiter = harness.join(join);
        answers.push(harness.join_answer(waiter));
    }
    let last = answers.pop().unwrap();
    assert_eq!(last.unwrap().error, ErrorCode::GroupMaxSizeReached);
    assert!(answers[1..].iter().all(Option::is_none), "the others wait for the first to rejoin");
}
