//! What a start makes of each state it finds.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol::{Classic, EpochBump};
use super::super::record_codec::TransactionRecord;
use super::super::state::TransactionState::{
    self, CompleteAbort, CompleteCommit, Dead, Empty, Ongoing, PrepareAbort, PrepareCommit, PrepareEpochFence,
};
use super::harness::{FIRST_PRODUCER_ID, Harness, ID};
use super::values::{identity, orders, producer_of, refused, written};

fn found(state: TransactionState, version: i16) -> Harness {
    let partitions = if state.is_idle() { Vec::new() } else { vec![orders(0), orders(3)] };
    let value = super::super::record_codec::TransactionValue { partitions, version, ..written(identity(7, 4), state) };
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    harness.log = vec![TransactionRecord { transactional_id: Arc::from(ID), value: Some(value) }];
    harness.restart();
    harness
}

#[test]
fn idle_ids_go_on_with_the_next_epoch() {
    for state in [Empty, CompleteCommit, CompleteAbort] {
        let mut harness = found(state, 2);
        assert!(harness.markers.is_empty() && harness.shard.next_deadline().is_none());
        assert_eq!(harness.init(), identity(7, 5));
    }
}

#[test]
fn an_open_transaction_goes_on_where_it_was() {
    for state in [Ongoing, PrepareEpochFence] {
        let mut harness = found(state, 2);
        assert!(harness.markers.is_empty() && harness.shard.next_deadline().is_some());
        assert_eq!(harness.state(), Ongoing);
        assert_eq!(harness.verify(identity(7, 4), &orders(3)), Ok(()));
        let waiter = harness.begin_end(identity(7, 4), EpochBump, true);
        assert_eq!(harness.markers[0].partitions, [orders(0), orders(3)]);
        harness.write_markers();
        assert_eq!(producer_of(harness.answer(waiter)), identity(7, 5));
    }
}

#[test]
fn an_open_transaction_is_aborted_before_its_id_is_handed_over() {
    for state in [Ongoing, PrepareEpochFence] {
        let mut harness = found(state, 0);
        let waiter = harness.begin_init();
        assert_eq!(harness.answer(waiter), None);
        assert_eq!(harness.markers[0].partitions, [orders(0), orders(3)]);
        harness.write_markers();
        assert_eq!(producer_of(harness.answer(waiter)), identity(7, 6));
    }
}

#[test]
fn markers_that_may_be_missing_are_written_again() {
    for (state, commit) in [(PrepareCommit, true), (PrepareAbort, false)] {
        for version in [0, 1, 2] {
            let mut harness = found(state, version);
            let markers = &harness.markers[0];
            assert_eq!((markers.commit, markers.producer), (commit, identity(7, 4)));
            assert_eq!((markers.is_epoch_bumped, markers.partitions.len()), (version == 2, 2));
            // Whoever asked for the end, and got no answer.
            let asked = if version == 2 { (identity(7, 3), EpochBump) } else { (identity(7, 4), Classic) };
            let waiter = harness.begin_end(asked.0, asked.1, commit);
            harness.write_markers();
            assert_eq!(producer_of(harness.answer(waiter)), identity(7, 4));
        }
    }
}

#[test]
fn dead_ids_and_tombstones_are_not_there() {
    let mut harness = found(Dead, 0);
    assert!(harness.shard.describe(ID).is_none());
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, 0));
    harness.log.push(TransactionRecord { transactional_id: Arc::from(ID), value: None });
    harness.restart();
    assert!(harness.shard.describe(ID).is_none());
}

#[test]
fn only_what_was_durable_counts() {
    let mut harness = Harness::new();
    let producer = harness.open(EpochBump);
    harness.is_log_prompt = false;
    let lost = harness.begin_end(producer, EpochBump, true);
    harness.restart();
    assert_eq!((harness.state(), harness.answer(lost)), (Ongoing, None));
    harness.is_log_prompt = true;
    assert!(matches!(harness.end(producer, EpochBump, false), Answer::Producer(_)), "it may still be aborted");
}

#[test]
fn an_end_that_was_answered_is_answered_so_after_a_crash() {
    for protocol in [Classic, EpochBump] {
        let mut harness = Harness::new();
        harness.are_markers_prompt = false;
        let producer = harness.open(protocol);
        let waiter = harness.begin_end(producer, protocol, true);
        harness.is_log_prompt = false;
        harness.write_markers();
        let answer = harness.answer(waiter);
        assert!(answer.is_some(), "before the record of it is durable");
        harness.is_log_prompt = true;
        harness.restart();
        let again = harness.begin_end(producer, protocol, true);
        harness.write_markers();
        assert_eq!(harness.answer(again), answer);
        assert_eq!(harness.end(producer, protocol, false), refused(ErrorCode::InvalidTxnState));
    }
}
