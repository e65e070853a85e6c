//! Markers that cannot be written at once, and word of them that comes late.

use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol::{Classic, EpochBump};
use super::super::state::TransactionState;
use super::harness::Harness;
use super::values::{identity, orders, producer_of, refused};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn only_markers_that_are_missing_are_tried_again() {
    for protocol in [Classic, EpochBump] {
        let mut harness = Harness::new();
        harness.are_markers_prompt = false;
        let producer = harness.open(protocol);
        assert_eq!(harness.add(producer, protocol, &[orders(1), orders(2)]), Answer::Added);
        let waiter = harness.begin_end(producer, protocol, true);
        harness.report_markers(vec![orders(1)]);
        assert_eq!(harness.answer(waiter), Some(refused(ErrorCode::ConcurrentTransactions)), "it is to come again");
        assert!(harness.markers.is_empty(), "not at once");
        harness.pass(SECOND);
        assert_eq!(harness.markers[0].partitions, [orders(1)]);
        assert!(harness.markers[0].commit);
        let again = harness.begin_end(producer, protocol, true);
        harness.write_markers();
        assert!(matches!(harness.answer(again), Some(Answer::Producer(_))));
        assert_eq!(harness.state(), TransactionState::CompleteCommit);
    }
}

#[test]
fn markers_are_tried_until_they_are_written() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.begin_end(producer, EpochBump, false);
    for _ in 0..20 {
        assert_eq!(harness.markers.len(), 1, "one attempt at a time");
        harness.report_markers(vec![orders(0)]);
        harness.pass(SECOND);
    }
    assert_eq!(harness.state(), TransactionState::PrepareAbort);
    harness.write_markers();
    assert_eq!(harness.state(), TransactionState::CompleteAbort);
}

#[test]
fn a_producer_that_waits_to_take_over_is_told_to_come_again_when_markers_fail() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    harness.open(EpochBump);
    let waiter = harness.begin_init();
    harness.report_markers(vec![orders(0)]);
    assert_eq!(harness.answer(waiter), Some(refused(ErrorCode::ConcurrentTransactions)));
    let again = harness.begin_init();
    harness.pass(SECOND);
    harness.write_markers();
    assert_eq!(producer_of(harness.answer(again)).epoch, 2);
}

#[test]
fn late_word_of_an_attempt_does_not_end_another_transaction() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    // The epoch stays, so that only the attempt tells one transaction from the other.
    let producer = harness.open(Classic);
    harness.begin_end(producer, Classic, true);
    let first = harness.markers[0].clone();
    harness.report_markers(vec![orders(0)]);
    harness.pass(SECOND);
    harness.write_markers();
    assert_eq!(harness.add(producer, Classic, &[orders(0)]), Answer::Added);
    let waiter = harness.begin_end(producer, Classic, false);
    harness.tell_of(&first, Vec::new());
    assert_eq!(harness.state(), TransactionState::PrepareAbort);
    assert_eq!(harness.answer(waiter), None);
    harness.write_markers();
    assert!(harness.answer(waiter).is_some());
    harness.tell_of(&first, vec![orders(0)]);
    assert_eq!(harness.state(), TransactionState::CompleteAbort);
}

#[test]
fn word_before_the_decision_is_durable_is_none() {
    let mut harness = Harness::new();
    let producer = harness.open(Classic);
    harness.end(producer, Classic, true);
    let before = harness.all_markers[0].clone();
    assert_eq!(harness.add(producer, Classic, &[orders(0)]), Answer::Added);
    harness.is_log_prompt = false;
    let waiter = harness.begin_end(producer, Classic, true);
    harness.tell_of(&before, Vec::new());
    assert_eq!((harness.answer(waiter), harness.state()), (None, TransactionState::PrepareCommit));
}

#[test]
fn at_a_stop_who_waits_is_told_and_what_becomes_durable_is_answered_still() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    let end = harness.begin_end(producer, EpochBump, true);
    harness.is_log_prompt = false;
    let waiting = harness.begin_init();
    let mut actions = Vec::new();
    harness.shard.unload(ErrorCode::NotCoordinator, &mut actions);
    harness.settle(actions);
    assert_eq!(harness.answer(end), Some(refused(ErrorCode::NotCoordinator)));
    assert_eq!(harness.answer(waiting), Some(refused(ErrorCode::NotCoordinator)));

    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let init = harness.begin_init();
    let mut actions = Vec::new();
    harness.shard.unload(ErrorCode::NotCoordinator, &mut actions);
    harness.settle(actions);
    harness.flush();
    assert_eq!(producer_of(harness.answer(init)), identity(super::harness::FIRST_PRODUCER_ID, 0));
}
