//! EndTxn, for clients of both kinds.

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol::{self, Classic, EpochBump};
use super::super::state::TransactionState::{self, CompleteAbort, CompleteCommit};
use super::harness::{FIRST_PRODUCER_ID, Harness};
use super::values::{identity, orders, producer_of, refused, written};

const LAST_EPOCH: i16 = i16::MAX - 1;

fn ended(commit: bool) -> TransactionState {
    if commit { CompleteCommit } else { CompleteAbort }
}

#[test]
fn a_transaction_ends_as_its_producer_wishes_in_the_same_epoch_or_the_next() {
    for (protocol, epochs) in [(Classic, 0), (EpochBump, 1)] {
        for commit in [true, false] {
            let mut harness = Harness::new();
            let producer = harness.open(protocol);
            let next = identity(producer.id, producer.epoch + epochs);
            assert_eq!(harness.end(producer, protocol, commit), Answer::Producer(next));
            assert_eq!(harness.state(), ended(commit));
            let markers = &harness.all_markers[0];
            assert_eq!((markers.producer, markers.commit), (next, commit));
            assert_eq!((&*markers.partitions, markers.is_epoch_bumped), (&[orders(0)][..], epochs == 1));
            assert!(harness.value().partitions.is_empty());
            assert_eq!(harness.add(next, protocol, &[orders(1)]), Answer::Added, "the next one begins");
        }
    }
}

#[test]
fn markers_wait_for_the_decision_to_be_durable_and_the_answer_for_the_markers() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.is_log_prompt = false;
    let waiter = harness.begin_end(producer, EpochBump, true);
    assert!(harness.markers.is_empty());
    harness.flush();
    assert_eq!(harness.markers.len(), 1);
    assert_eq!(harness.answer(waiter), None);
    harness.write_markers();
    assert_eq!(producer_of(harness.answer(waiter)), identity(producer.id, 1));
}

#[test]
fn who_has_begun_nothing_has_nothing_to_commit() {
    for protocol in [Classic, EpochBump] {
        let mut harness = Harness::new();
        let producer = harness.init();
        assert_eq!(harness.end(producer, protocol, true), refused(ErrorCode::InvalidTxnState));
    }
    let mut harness = Harness::new();
    let producer = harness.init();
    assert_eq!(harness.end(producer, Classic, false), refused(ErrorCode::InvalidTxnState));
}

#[test]
fn an_abort_of_nothing_ends_the_epoch_all_the_same() {
    let mut harness = Harness::new();
    let mut producer = harness.init();
    for _ in 0..3 {
        let next = identity(producer.id, producer.epoch + 1);
        assert_eq!(harness.end(producer, EpochBump, false), Answer::Producer(next));
        producer = next;
    }
    assert_eq!(harness.state(), CompleteAbort);
    assert!(harness.all_markers.iter().all(|markers| markers.partitions.is_empty()));
    assert_eq!(harness.add(producer, EpochBump, &[orders(0)]), Answer::Added);
    let committed = producer_of(Some(harness.end(producer, EpochBump, true)));
    assert!(matches!(harness.end(committed, EpochBump, false), Answer::Producer(_)), "after a commit too");
}

#[test]
fn an_end_that_is_asked_for_again_is_answered_as_before() {
    for protocol in [Classic, EpochBump] {
        for commit in [true, false] {
            let mut harness = Harness::new();
            harness.are_markers_prompt = false;
            let producer = harness.open(protocol);
            let (first, again) =
                (harness.begin_end(producer, protocol, commit), harness.begin_end(producer, protocol, commit));
            assert_eq!((harness.answer(first), harness.answer(again)), (None, None));
            harness.write_markers();
            let next = harness.answer(first);
            assert_eq!(harness.answer(again), next);
            assert_eq!(Some(harness.end(producer, protocol, commit)), next);
            assert_eq!(harness.end(producer, protocol, !commit), refused(ErrorCode::InvalidTxnState));
            assert_eq!(harness.all_markers.len(), 1);
        }
    }
}

#[test]
fn a_delayed_end_does_not_end_the_next_transaction() {
    let mut harness = Harness::new();
    let first = harness.open(EpochBump);
    let second = producer_of(Some(harness.end(first, EpochBump, true)));
    assert_eq!(harness.add(second, EpochBump, &[orders(1)]), Answer::Added);
    for commit in [true, false] {
        assert_eq!(harness.end(first, EpochBump, commit), refused(ErrorCode::ProducerFenced));
    }
    assert_eq!(harness.state(), TransactionState::Ongoing);
    let third = producer_of(Some(harness.end(second, EpochBump, false)));
    assert_eq!(harness.end(first, EpochBump, true), refused(ErrorCode::ProducerFenced));
    assert_eq!(harness.end(second, EpochBump, true), refused(ErrorCode::InvalidTxnState));
    assert_eq!(third, identity(first.id, 2));
}

#[test]
fn a_replaced_producer_ends_nothing() {
    for protocol in [Classic, EpochBump] {
        for commit in [true, false] {
            let mut harness = Harness::new();
            let producer = harness.open(protocol);
            assert!(matches!(harness.end(producer, protocol, commit), Answer::Producer(_)));
            let successor = harness.init();
            let stale = identity(successor.id, successor.epoch - 1);
            assert_eq!(harness.end(stale, protocol, commit), refused(ErrorCode::ProducerFenced));
            assert_eq!(harness.add(successor, protocol, &[orders(0)]), Answer::Added);
            assert_eq!(harness.end(stale, protocol, commit), refused(ErrorCode::ProducerFenced));
        }
    }
}

#[test]
fn strangers_end_nothing() {
    for protocol in [Classic, EpochBump] {
        let mut harness = Harness::new();
        let nobody = identity(5, 0);
        assert_eq!(harness.end(nobody, protocol, true), refused(ErrorCode::InvalidProducerIdMapping));
        let producer = harness.open(protocol);
        assert_eq!(harness.end(nobody, protocol, true), refused(ErrorCode::InvalidProducerIdMapping));
        let later = identity(producer.id, producer.epoch + 1);
        assert_eq!(harness.end(later, protocol, true), refused(ErrorCode::ProducerFenced));
        assert_eq!(harness.state(), TransactionState::Ongoing);
    }
}

#[test]
fn while_markers_are_written_the_next_epoch_ends_nothing_yet() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.begin_end(producer, EpochBump, true);
    let next = identity(producer.id, producer.epoch + 1);
    assert_eq!(harness.end(next, EpochBump, true), refused(ErrorCode::ProducerFenced), "nobody was told of it");
}

#[test]
fn with_the_last_epoch_the_producer_goes_on_under_a_new_id() {
    for commit in [true, false] {
        let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::Empty)]);
        let producer = identity(7, LAST_EPOCH);
        assert_eq!(harness.add(producer, EpochBump, &[orders(0)]), Answer::Added);
        let next = harness.end(producer, EpochBump, commit);
        assert_eq!(next, Answer::Producer(identity(FIRST_PRODUCER_ID, 0)));
        assert_eq!(harness.all_markers[0].producer, identity(7, i16::MAX), "the markers are the old id's");
        assert_eq!(harness.end(producer, EpochBump, commit), next, "the answer was lost");
        assert_eq!(harness.end(producer, EpochBump, !commit), refused(ErrorCode::InvalidTxnState));
        assert_eq!(harness.recover(producer), next, "or it gives up and recovers");
        assert_eq!(harness.add(identity(FIRST_PRODUCER_ID, 0), EpochBump, &[orders(0)]), Answer::Added);
        assert_eq!(harness.end(producer, EpochBump, commit), refused(ErrorCode::ProducerFenced));
    }
}

#[test]
fn the_new_id_is_decided_with_the_end_and_survives_a_crash_before_the_markers() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::Empty)]);
    harness.are_markers_prompt = false;
    let producer = identity(7, LAST_EPOCH);
    assert_eq!(harness.add(producer, EpochBump, &[orders(0)]), Answer::Added);
    harness.begin_end(producer, EpochBump, true);
    harness.restart();
    assert_eq!(harness.markers[0].producer, identity(7, i16::MAX));
    let retry = harness.begin_end(producer, EpochBump, true);
    harness.write_markers();
    assert_eq!(producer_of(harness.answer(retry)), identity(FIRST_PRODUCER_ID, 0));
}

#[test]
fn a_transaction_is_of_the_kind_its_end_says() {
    let mut harness = Harness::new();
    let producer = harness.open(Classic);
    assert_eq!(harness.end(producer, EpochBump, true), Answer::Producer(identity(producer.id, 1)));
    let next = identity(producer.id, 1);
    assert_eq!(harness.add(next, Protocol::EpochBump, &[orders(0)]), Answer::Added);
    assert_eq!(harness.end(next, Classic, true), Answer::Producer(next));
}
