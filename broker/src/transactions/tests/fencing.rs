//! Transactions that are open for longer than their timeout, and their producers.

use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol::{self, Classic, EpochBump};
use super::super::state::TransactionState;
use super::harness::{Harness, TIMEOUT_MS};
use super::values::{identity, orders, refused};

const TIMEOUT: Duration = Duration::from_millis(TIMEOUT_MS as u64);
const MOMENT: Duration = Duration::from_millis(1);

fn timed_out(protocol: Protocol) -> (Harness, super::super::event::ProducerIdentity) {
    let mut harness = Harness::new();
    let producer = harness.open(protocol);
    harness.pass(TIMEOUT);
    (harness, producer)
}

#[test]
fn an_open_transaction_is_aborted_when_its_time_is_over_and_not_before() {
    for protocol in [Classic, EpochBump] {
        let mut harness = Harness::new();
        let producer = harness.open(protocol);
        harness.pass(TIMEOUT - MOMENT);
        assert_eq!(harness.state(), TransactionState::Ongoing);
        harness.pass(MOMENT);
        assert_eq!(harness.state(), TransactionState::CompleteAbort);
        let markers = &harness.all_markers[0];
        assert_eq!((markers.commit, markers.producer), (false, identity(producer.id, producer.epoch + 1)));
        assert_eq!(markers.partitions, [orders(0)]);
    }
}

#[test]
fn adding_partitions_does_not_make_it_last_longer() {
    let mut harness = Harness::new();
    let producer = harness.open(Classic);
    harness.pass(TIMEOUT - MOMENT);
    assert_eq!(harness.add(producer, Classic, &[orders(1)]), Answer::Added);
    harness.pass(MOMENT);
    assert_eq!(harness.state(), TransactionState::CompleteAbort);
}

#[test]
fn who_was_timed_out_may_not_go_on() {
    for protocol in [Classic, EpochBump] {
        let (mut harness, producer) = timed_out(protocol);
        assert_eq!(harness.add(producer, protocol, &[orders(0)]), refused(ErrorCode::ProducerFenced));
        assert_eq!(harness.verify(producer, &orders(0)), Err(ErrorCode::ProducerFenced));
        let committed = harness.end(producer, protocol, true);
        assert!(matches!(committed, Answer::Refused(_)), "what was aborted is not committed");
        assert_eq!(harness.init().epoch, producer.epoch + 2);
        assert_eq!(harness.recover(producer), refused(ErrorCode::ProducerFenced), "another has taken over");
    }
}

#[test]
fn who_was_timed_out_may_recover_while_nobody_has_taken_over() {
    for protocol in [Classic, EpochBump] {
        let (mut harness, producer) = timed_out(protocol);
        let next = identity(producer.id, producer.epoch + 1);
        assert_eq!(harness.recover(producer), Answer::Producer(next));
        assert_eq!(harness.add(next, protocol, &[orders(0)]), Answer::Added);
        assert_eq!(harness.recover(producer), refused(ErrorCode::ProducerFenced));
    }
}

#[test]
fn the_abort_of_who_was_timed_out_in_the_new_protocol_is_done() {
    let (mut harness, producer) = timed_out(EpochBump);
    let next = identity(producer.id, producer.epoch + 1);
    assert_eq!(harness.end(producer, EpochBump, false), Answer::Producer(next));
    assert_eq!(harness.end(producer, EpochBump, true), refused(ErrorCode::InvalidTxnState));
}

#[test]
fn a_transaction_that_ends_in_time_is_not_aborted_later() {
    let mut harness = Harness::new();
    let producer = harness.open(EpochBump);
    assert!(matches!(harness.end(producer, EpochBump, true), Answer::Producer(_)));
    harness.pass(TIMEOUT * 3);
    assert_eq!(harness.state(), TransactionState::CompleteCommit);
    assert_eq!(harness.shard.next_deadline(), None);
}

#[test]
fn a_decision_to_commit_stands_whatever_the_time() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.begin_end(producer, EpochBump, true);
    harness.pass(TIMEOUT * 3);
    assert_eq!(harness.state(), TransactionState::PrepareCommit);
    harness.write_markers();
    assert_eq!(harness.state(), TransactionState::CompleteCommit);
}

#[test]
fn a_clock_that_is_set_moves_no_timeout() {
    for jump_ms in [-86_400_000_000_i64, 86_400_000_000] {
        let mut harness = Harness::new();
        harness.open(Classic);
        harness.now.wall_ms += jump_ms;
        harness.pass(TIMEOUT - MOMENT);
        assert_eq!(harness.state(), TransactionState::Ongoing, "{jump_ms}");
        harness.pass(MOMENT);
        assert_eq!(harness.state(), TransactionState::CompleteAbort, "{jump_ms}");
    }
}

#[test]
fn the_timeout_goes_on_over_a_restart_even_if_the_clock_was_set_back() {
    let mut harness = Harness::new();
    harness.open(Classic);
    harness.pass(TIMEOUT / 2);
    harness.restart();
    harness.pass(TIMEOUT / 2 - MOMENT);
    assert_eq!(harness.state(), TransactionState::Ongoing);
    harness.pass(MOMENT);
    assert_eq!(harness.state(), TransactionState::CompleteAbort);

    let mut harness = Harness::new();
    harness.open(Classic);
    harness.now.wall_ms -= 86_400_000_000;
    harness.restart();
    harness.pass(TIMEOUT);
    assert_eq!(harness.state(), TransactionState::CompleteAbort, "at most a whole timeout longer");
}

#[test]
fn a_transaction_whose_time_was_over_while_there_was_no_broker_is_left_to_its_producer_for_half_a_minute() {
    let mut harness = Harness::new();
    harness.open(EpochBump);
    let later = harness.now.monotonic.after(TIMEOUT * 2);
    harness.advance_to(later);
    harness.restart();
    harness.pass(TIMEOUT.min(Duration::from_secs(30)) - MOMENT);
    assert_eq!(harness.state(), TransactionState::Ongoing);
    harness.pass(MOMENT);
    assert_eq!(harness.state(), TransactionState::CompleteAbort);
}

#[test]
fn an_abort_by_timeout_survives_a_crash_before_its_markers() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.pass(TIMEOUT);
    harness.restart();
    assert_eq!(harness.markers.len(), 1);
    assert_eq!(harness.markers[0].producer, identity(producer.id, producer.epoch + 1));
    assert!(harness.markers[0].is_epoch_bumped && !harness.markers[0].commit);
}
