use std::collections::BTreeSet;

use pillion_wire::ErrorCode;
use proptest::prelude::*;

use super::{Action, Event, Membership};
use crate::group::assignor::TopicPartition;

fn partitions(numbers: &[i32]) -> BTreeSet<TopicPartition> {
    numbers.iter().map(|number| TopicPartition::new("a", *number)).collect()
}

fn joined(generation: i32) -> Event {
    Event::Joined { generation, member_id: "m".to_owned() }
}

fn beat(generation: i32, code: ErrorCode) -> Event {
    Event::Beat { generation, code }
}

const JOIN: Action = Action::Join { delayed: false };
const JOIN_LATER: Action = Action::Join { delayed: true };

/// A member with a share in generation 1.
fn stable(cooperative: bool, share: &[i32]) -> Membership {
    let mut member = Membership::new(cooperative, false);
    assert_eq!(member.on(Event::Subscribed), [JOIN]);
    assert_eq!(member.on(joined(1)), [Action::Sync]);
    assert_eq!(member.on(Event::Synced(partitions(share))), []);
    assert!(member.is_stable() && member.beats());
    assert_eq!(*member.owned(), partitions(share));
    member
}

#[test]
fn member_id_the_coordinator_asks_for_is_joined_with() {
    let mut member = Membership::new(false, false);
    member.on(Event::Subscribed);
    let refused = Event::JoinRefused { code: ErrorCode::MemberIdRequired, member_id: "given".to_owned() };
    assert_eq!(member.on(refused), [JOIN]);
    assert_eq!(member.view().member_id, "given");
}

#[test]
fn eager_member_lets_everything_go_before_it_joins_again() {
    let mut member = stable(false, &[0, 1]);
    assert_eq!(member.on(beat(1, ErrorCode::RebalanceInProgress)), []);
    let (number, release) = member.view().release.clone().unwrap();
    assert_eq!(*release, partitions(&[0, 1]));
    assert!(member.owned().is_empty() && member.beats());
    assert_eq!(member.on(beat(1, ErrorCode::RebalanceInProgress)), []);
    assert_eq!(member.on(Event::Released(number + 1)), []);
    assert_eq!(member.on(Event::Released(number)), [JOIN]);
    assert_eq!(member.last().0, &partitions(&[0, 1]));
    assert_eq!(member.on(joined(2)), [Action::Sync]);
    assert_eq!(member.on(Event::Synced(partitions(&[1]))), []);
    assert!(member.view().release.is_none());
}

#[test]
fn cooperative_member_keeps_what_it_holds_and_joins_again_once_the_rest_is_let_go() {
    let mut member = stable(true, &[0, 1]);
    assert_eq!(member.on(beat(1, ErrorCode::RebalanceInProgress)), [JOIN]);
    assert_eq!(*member.owned(), partitions(&[0, 1]));
    member.on(joined(2));
    assert_eq!(member.on(Event::Synced(partitions(&[0, 5]))), []);
    let (number, release) = member.view().release.clone().unwrap();
    assert_eq!(*release, partitions(&[1]));
    assert_eq!(*member.owned(), partitions(&[0, 5]));
    assert_eq!(member.on(Event::Released(number)), [JOIN]);
}

#[test]
fn member_the_coordinator_does_not_know_loses_all_and_joins_anew() {
    for (code, id) in [(ErrorCode::UnknownMemberId, ""), (ErrorCode::IllegalGeneration, "m")] {
        let mut member = stable(true, &[0]);
        assert_eq!(member.on(beat(1, code)), [JOIN], "{code}");
        let view = member.view();
        assert_eq!((view.losses, view.generation, view.member_id.as_str()), (1, -1, id));
        assert!(view.assigned.is_empty());
    }
}

#[test]
fn loss_while_the_caller_lets_go_makes_its_late_word_void() {
    let mut member = stable(false, &[0]);
    member.on(beat(1, ErrorCode::RebalanceInProgress));
    let (number, _) = member.view().release.clone().unwrap();
    assert_eq!(member.on(beat(1, ErrorCode::UnknownMemberId)), [JOIN]);
    assert_eq!((member.view().losses, member.view().release.is_none()), (1, true));
    assert_eq!(member.on(Event::Released(number)), []);
}

#[test]
fn moved_coordinator_is_found_again() {
    let mut member = stable(true, &[0]);
    assert_eq!(member.on(beat(1, ErrorCode::NotCoordinator)), [Action::FindCoordinator]);
    assert!(member.is_stable());
    member.on(beat(1, ErrorCode::RebalanceInProgress));
    let refused = Event::JoinRefused { code: ErrorCode::NotCoordinator, member_id: String::new() };
    assert_eq!(member.on(refused), [Action::FindCoordinator, JOIN_LATER]);
    assert_eq!(member.on(Event::Unreachable), [Action::FindCoordinator, JOIN_LATER]);
    let loading = Event::JoinRefused { code: ErrorCode::CoordinatorLoadInProgress, member_id: String::new() };
    assert_eq!(member.on(loading), [JOIN_LATER]);
    assert_eq!(*member.owned(), partitions(&[0]));
}

#[test]
fn rebalance_during_the_sync_is_joined_at_once() {
    let mut member = Membership::new(true, false);
    member.on(Event::Subscribed);
    member.on(joined(1));
    assert_eq!(member.on(Event::SyncRefused(ErrorCode::RebalanceInProgress)), [JOIN]);
}

#[test]
fn subscription_changed_while_joining_is_joined_with_afterwards() {
    let mut member = Membership::new(true, false);
    member.on(Event::Subscribed);
    assert_eq!(member.on(Event::Subscribed), []);
    member.on(joined(1));
    assert_eq!(member.on(Event::Synced(partitions(&[0]))), [JOIN]);
}

#[test]
fn answer_to_a_heartbeat_of_an_earlier_generation_counts_no_more() {
    let mut member = stable(true, &[0]);
    member.on(beat(1, ErrorCode::RebalanceInProgress));
    member.on(joined(2));
    member.on(Event::Synced(partitions(&[0])));
    assert_eq!(member.on(beat(1, ErrorCode::IllegalGeneration)), []);
    assert!(member.is_stable());
}

#[test]
fn caller_that_does_not_poll_is_taken_out_and_joins_again_when_it_does() {
    let mut member = stable(true, &[0]);
    assert_eq!(member.on(Event::PollOverdue), [Action::Leave { member_id: "m".to_owned() }]);
    assert_eq!((member.view().losses, member.owned().is_empty(), member.beats()), (1, true, false));
    assert_eq!(member.on(Event::PollOverdue), []);
    assert_eq!(member.on(Event::Polled), [JOIN]);
}

#[test]
fn dynamic_member_leaves_and_a_static_one_keeps_its_place() {
    let mut member = stable(true, &[0]);
    assert_eq!(member.on(Event::Leave), [Action::Leave { member_id: "m".to_owned() }]);
    assert!(member.is_ended());
    assert_eq!(member.on(Event::Subscribed), []);
    let mut fixed = Membership::new(true, true);
    fixed.on(Event::Subscribed);
    fixed.on(joined(1));
    fixed.on(Event::Synced(partitions(&[0])));
    assert_eq!(fixed.on(Event::Leave), []);
}

#[test]
fn refusal_for_good_is_told_and_nothing_more_is_asked() {
    for code in [ErrorCode::FencedInstanceId, ErrorCode::GroupAuthorizationFailed, ErrorCode::InconsistentGroupProtocol]
    {
        let mut member = Membership::new(true, true);
        member.on(Event::Subscribed);
        assert_eq!(member.on(Event::JoinRefused { code, member_id: String::new() }), []);
        assert_eq!(member.view().failed.as_ref().and_then(super::GroupError::error_code), Some(code));
        assert_eq!(member.on(Event::Subscribed), []);
    }
}

const CODES: [ErrorCode; 8] = [
    ErrorCode::None,
    ErrorCode::RebalanceInProgress,
    ErrorCode::UnknownMemberId,
    ErrorCode::IllegalGeneration,
    ErrorCode::NotCoordinator,
    ErrorCode::CoordinatorLoadInProgress,
    ErrorCode::FencedInstanceId,
    ErrorCode::MemberIdRequired,
];

proptest! {
    /// Whatever comes, at most one join or sync is on its way, heartbeats and requests exclude each other, and what a
    /// caller holds it was given and not told to let go.
    #[test]
    fn one_request_at_a_time_and_nothing_is_held_twice(
        cooperative in any::<bool>(),
        steps in prop::collection::vec((0..10_u8, 0..8_usize, prop::collection::btree_set(0..4_i32, 0..4)), 0..80),
    ) {
        let mut member = Membership::new(cooperative, false);
        let (mut on_its_way, mut generation, mut last_release) = (None, 0, 0);
        for (choice, code, share) in steps {
            let code = CODES[code];
            let share: BTreeSet<_> = share.into_iter().map(|number| TopicPartition::new("a", number)).collect();
            let event = match (choice, &on_its_way) {
                (0, Some(Action::Join { .. })) => {
                    generation += 1;
                    joined(generation)
                }
                (1, Some(Action::Join { .. })) if code != ErrorCode::None => {
                    Event::JoinRefused { code, member_id: "given".to_owned() }
                }
                (2 | 3, Some(Action::Sync)) => Event::Synced(share),
                (4, Some(Action::Sync)) if code != ErrorCode::None => Event::SyncRefused(code),
                (5, Some(_)) => Event::Unreachable,
                (6, None) if member.beats() => beat(member.view().generation, code),
                (7, _) => Event::Subscribed,
                (8, _) => match &member.view().release {
                    Some((number, _)) => Event::Released(*number),
                    None => continue,
                },
                (9, _) if code == ErrorCode::None => Event::PollOverdue,
                (9, _) if code == ErrorCode::RebalanceInProgress => Event::Polled,
                _ => continue,
            };
            let answers = matches!(event, Event::Joined { .. } | Event::JoinRefused { .. } | Event::Synced(_)
                | Event::SyncRefused(_) | Event::Unreachable | Event::PollOverdue);
            if answers {
                on_its_way = None;
            }
            for action in member.on(event) {
                if matches!(action, Action::Join { .. } | Action::Sync) {
                    prop_assert!(on_its_way.is_none(), "{action:?} while {on_its_way:?} is on its way");
                    on_its_way = Some(action);
                }
            }
            prop_assert!(!(member.beats() && on_its_way.is_some()));
            if let Some((number, release)) = &member.view().release {
                prop_assert!(*number >= last_release);
                last_release = *number;
                prop_assert!(release.is_disjoint(member.owned()) && !release.is_empty());
            }
            if member.view().generation < 0 {
                prop_assert!(member.owned().is_empty());
            }
        }
    }
}
