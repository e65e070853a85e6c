//! InitProducerId: who gets which id and epoch.

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::{Init, Protocol};
use super::super::limits::WAITING_MAX;
use super::super::state::TransactionState;
use super::harness::{FIRST_PRODUCER_ID, Harness, TIMEOUT_MS};
use super::values::{identity, orders, producer_of, refused, written};

const LAST_EPOCH: i16 = i16::MAX - 1;

#[test]
fn an_id_nobody_has_used_begins_with_epoch_0_of_a_new_producer_id() {
    let mut harness = Harness::new();
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, 0));
    assert_eq!(harness.state(), TransactionState::Empty);
}

#[test]
fn a_new_id_is_not_written_down_before_there_is_a_producer_id() {
    let mut harness = Harness::new();
    let waiter = harness.waiter();
    harness.init_once(Init { waiter, timeout_ms: TIMEOUT_MS, current: None, fresh_producer_id: None });
    assert_eq!(harness.answer(waiter), Some(Answer::NeedsProducerId));
    assert!(harness.log.is_empty() && harness.shard.describe(super::harness::ID).is_none());
}

#[test]
fn each_producer_of_an_id_gets_the_next_epoch() {
    let mut harness = Harness::new();
    for epoch in 0..5 {
        assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, epoch));
    }
}

#[test]
fn a_producer_is_told_its_epoch_once_that_is_durable() {
    let mut harness = Harness::new();
    harness.is_log_prompt = false;
    let (first, second) = (harness.begin_init(), harness.begin_init());
    assert_eq!((harness.answer(first), harness.answer(second)), (None, None));
    harness.flush_one();
    assert_eq!(producer_of(harness.answer(first)).epoch, 0);
    assert_eq!(harness.answer(second), None);
    harness.flush_one();
    assert_eq!(producer_of(harness.answer(second)).epoch, 1);
}

#[test]
fn what_is_no_transactional_id_or_no_timeout_is_refused() {
    let mut harness = Harness::new();
    let longest = 15 * 60 * 1000;
    for (timeout_ms, is_taken) in [(0, false), (-1, false), (i32::MIN, false), (longest + 1, false), (longest, true)] {
        let waiter = harness.init_as(None, timeout_ms);
        let answer = harness.answer(waiter);
        assert_eq!(
            answer == Some(refused(ErrorCode::InvalidTransactionTimeout)),
            !is_taken,
            "{timeout_ms}: {answer:?}"
        );
    }
    for (id, code) in [(String::new(), ErrorCode::InvalidRequest), ("x".repeat(20_000), ErrorCode::InvalidRequest)] {
        let waiter = harness.waiter();
        let init = Init { waiter, timeout_ms: TIMEOUT_MS, current: None, fresh_producer_id: Some(7) };
        let mut actions = Vec::new();
        harness.shard.init(&id.into(), init, harness.now, &mut actions);
        harness.settle(actions);
        assert_eq!(harness.answer(waiter), Some(refused(code)));
    }
}

#[test]
fn a_producer_that_recovers_gets_the_next_epoch_of_its_id() {
    let mut harness = Harness::new();
    let producer = harness.init();
    assert_eq!(harness.recover(producer), Answer::Producer(identity(producer.id, 1)));
    assert_eq!(harness.recover(identity(producer.id, 1)), Answer::Producer(identity(producer.id, 2)));
}

#[test]
fn a_recovery_that_is_asked_for_again_gets_what_the_first_one_got() {
    let mut harness = Harness::new();
    let producer = harness.init();
    let recovered = harness.recover(producer);
    assert_eq!(harness.recover(producer), recovered);
    assert_eq!(harness.recover(producer), recovered);
}

#[test]
fn a_producer_that_was_replaced_cannot_recover() {
    let mut harness = Harness::new();
    let first = harness.init();
    let recovered = producer_of(Some(harness.recover(first)));
    harness.init();
    for stale in [first, recovered, identity(first.id + 5, 0), identity(first.id, 99)] {
        assert_eq!(harness.recover(stale), refused(ErrorCode::ProducerFenced), "{stale:?}");
    }
}

#[test]
fn a_replaced_producer_does_not_abort_its_successors_transaction() {
    let mut harness = Harness::new();
    let first = harness.init();
    let second = harness.open(Protocol::EpochBump);
    assert_eq!(harness.recover(first), refused(ErrorCode::ProducerFenced));
    assert_eq!(harness.state(), TransactionState::Ongoing);
    assert!(matches!(harness.end(second, Protocol::EpochBump, true), Answer::Producer(_)));
}

#[test]
fn an_id_whose_epochs_are_used_up_goes_on_with_a_new_producer_id() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH - 1), TransactionState::Empty)]);
    assert_eq!(harness.init(), identity(7, LAST_EPOCH));
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, 0));
    assert_eq!(harness.value().previous_producer_id, 7);
}

#[test]
fn a_producer_that_recovers_with_the_last_epoch_gets_a_new_id_and_gets_it_again() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::CompleteCommit)]);
    let recovered = harness.recover(identity(7, LAST_EPOCH));
    assert_eq!(recovered, Answer::Producer(identity(FIRST_PRODUCER_ID, 0)));
    assert_eq!(harness.recover(identity(7, LAST_EPOCH)), recovered, "its answer may have been lost");
}

#[test]
fn a_producer_of_the_id_before_is_fenced_once_another_has_taken_over() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::Empty)]);
    let successor = harness.init();
    assert_eq!(successor, identity(FIRST_PRODUCER_ID, 0));
    assert_eq!(harness.recover(identity(7, LAST_EPOCH)), refused(ErrorCode::ProducerFenced));
    assert_eq!(harness.add(successor, Protocol::EpochBump, &[orders(0)]), Answer::Added, "it is not fenced itself");
    assert_eq!(harness.recover(identity(7, LAST_EPOCH)), refused(ErrorCode::ProducerFenced));
}

#[test]
fn a_producer_that_recovers_from_an_open_transaction_has_it_aborted() {
    for protocol in [Protocol::Classic, Protocol::EpochBump] {
        let mut harness = Harness::new();
        let producer = harness.open(protocol);
        let recovered = producer_of(Some(harness.recover(producer)));
        assert_eq!(recovered, identity(producer.id, 1), "the epoch of the markers");
        assert_eq!(harness.recover(producer), Answer::Producer(recovered), "its answer may have been lost");
        assert_eq!(harness.all_markers.len(), 1);
        assert!(!harness.all_markers[0].commit);
    }
}

#[test]
fn a_producer_that_recovers_from_an_open_transaction_of_the_last_epoch_gets_a_new_id() {
    let new = identity(FIRST_PRODUCER_ID, 0);
    for (epoch, expected) in [(LAST_EPOCH - 1, identity(7, LAST_EPOCH)), (LAST_EPOCH, new)] {
        let mut harness = Harness::reading([written(identity(7, epoch), TransactionState::Empty)]);
        assert_eq!(harness.add(identity(7, epoch), Protocol::Classic, &[orders(0)]), Answer::Added);
        let waiter = harness.init_as(Some(identity(7, epoch)), TIMEOUT_MS);
        assert_eq!(producer_of(harness.answer(waiter)), expected, "from epoch {epoch}");
        assert_eq!(harness.recover(identity(7, epoch)), Answer::Producer(expected), "its answer may have been lost");
        assert_eq!(harness.all_markers[0].producer, identity(7, epoch + 1));
    }
}

#[test]
fn a_recovery_that_comes_late_does_not_abort_what_the_producer_began_since() {
    let mut harness = Harness::new();
    let producer = harness.init();
    let recovered = producer_of(Some(harness.recover(producer)));
    assert_eq!(harness.add(recovered, Protocol::EpochBump, &[orders(0)]), Answer::Added);
    assert_eq!(harness.recover(producer), refused(ErrorCode::ProducerFenced));
    assert_eq!(harness.state(), TransactionState::Ongoing);
}

#[test]
fn an_id_left_open_with_its_last_epoch_is_aborted_and_handed_over() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::Empty)]);
    assert_eq!(harness.add(identity(7, LAST_EPOCH), Protocol::EpochBump, &[orders(0)]), Answer::Added);
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, 0));
    assert_eq!(harness.all_markers[0].producer, identity(7, i16::MAX));
}

#[test]
fn a_producer_waits_for_the_end_of_what_the_last_one_left_open() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let before = harness.open(Protocol::EpochBump);
    let waiter = harness.begin_init();
    assert_eq!(harness.answer(waiter), None);
    assert_eq!(harness.markers[0].producer, identity(before.id, before.epoch + 1));
    assert!(!harness.markers[0].commit);
    harness.write_markers();
    assert_eq!(producer_of(harness.answer(waiter)), identity(before.id, before.epoch + 2));
}

#[test]
fn a_producer_waits_for_a_commit_under_way_and_does_not_undo_it() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let before = harness.open(Protocol::Classic);
    let end = harness.begin_end(before, Protocol::Classic, true);
    let waiters: Vec<_> = (0..3).map(|_| harness.begin_init()).collect();
    assert_eq!(harness.state(), TransactionState::PrepareCommit);
    harness.write_markers();
    assert_eq!(harness.answer(end), Some(Answer::Producer(before)));
    let epochs: Vec<_> = waiters.into_iter().map(|waiter| producer_of(harness.answer(waiter)).epoch).collect();
    assert_eq!(epochs, [1, 2, 3]);
    assert!(harness.all_markers.iter().all(|markers| markers.commit));
}

#[test]
fn who_waits_is_bounded() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(Protocol::EpochBump);
    harness.begin_end(producer, Protocol::EpochBump, true);
    let waiters: Vec<_> = (0..2 * WAITING_MAX).map(|_| harness.begin_init()).collect();
    let refusals = waiters.iter().filter_map(|waiter| harness.answer(*waiter)).collect::<Vec<_>>();
    assert_eq!(refusals.len(), WAITING_MAX + 1);
    assert!(refusals.iter().all(|answer| *answer == refused(ErrorCode::ConcurrentTransactions)));
    harness.write_markers();
    assert_eq!(waiters.iter().filter_map(|waiter| harness.answer(*waiter)).count(), WAITING_MAX - 1);
}

#[test]
fn a_producer_of_the_last_epoch_that_waits_for_markers_is_handed_a_new_id_afterwards() {
    let mut harness = Harness::reading([written(identity(7, LAST_EPOCH), TransactionState::Empty)]);
    harness.are_markers_prompt = false;
    assert_eq!(harness.add(identity(7, LAST_EPOCH), Protocol::Classic, &[orders(0)]), Answer::Added);
    harness.begin_end(identity(7, LAST_EPOCH), Protocol::Classic, true);
    let waiter = harness.begin_init();
    harness.write_markers();
    assert_eq!(harness.answer(waiter), Some(Answer::NeedsProducerId));
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID, 0));
}
