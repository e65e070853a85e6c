//! AddPartitionsToTxn, AddOffsetsToTxn, and what Produce does in their place.

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol;
use super::super::state::TransactionState;
use super::harness::Harness;
use super::values::{identity, orders, refused};

#[test]
fn the_first_partitions_open_a_transaction_and_more_join_it() {
    let mut harness = Harness::new();
    let producer = harness.init();
    assert_eq!(harness.add(producer, Protocol::Classic, &[orders(1)]), Answer::Added);
    let opened = harness.value();
    assert_eq!(opened.started_ms, harness.now.wall_ms);
    harness.pass(std::time::Duration::from_secs(1));
    assert_eq!(harness.add(producer, Protocol::Classic, &[orders(0), orders(1)]), Answer::Added);
    assert_eq!(harness.value().partitions, [orders(0), orders(1)]);
    assert_eq!(harness.value().started_ms, opened.started_ms, "the timeout goes on");
}

#[test]
fn an_addition_is_answered_once_it_is_durable() {
    let mut harness = Harness::new();
    let producer = harness.init();
    harness.is_log_prompt = false;
    let first = harness.begin_add(producer, Protocol::EpochBump, &[orders(0)]);
    let same = harness.begin_add(producer, Protocol::EpochBump, &[orders(0)]);
    let more = harness.begin_add(producer, Protocol::EpochBump, &[orders(0), orders(1)]);
    assert_eq!(harness.in_flight.len(), 2, "what is in already is not written again");
    assert_eq!(harness.verify(producer, &orders(0)), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!((harness.answer(first), harness.answer(same)), (None, None));
    harness.flush_one();
    assert_eq!((harness.answer(first), harness.answer(same)), (Some(Answer::Added), Some(Answer::Added)));
    assert_eq!(harness.answer(more), None);
    assert_eq!(harness.verify(producer, &orders(0)), Ok(()));
    assert_eq!(harness.verify(producer, &orders(1)), Err(ErrorCode::ConcurrentTransactions));
    harness.flush_one();
    assert_eq!(harness.answer(more), Some(Answer::Added));
    assert_eq!(harness.verify(producer, &orders(1)), Ok(()));
}

#[test]
fn an_addition_whose_record_is_lost_is_refused_and_so_is_who_waited_for_it() {
    let mut harness = Harness::new();
    let producer = harness.init();
    harness.is_log_prompt = false;
    let first = harness.begin_add(producer, Protocol::EpochBump, &[orders(0)]);
    let same = harness.begin_add(producer, Protocol::EpochBump, &[orders(0)]);
    harness.fail_log();
    for waiter in [first, same] {
        assert_eq!(harness.answer(waiter), Some(refused(ErrorCode::NotCoordinator)));
    }
}

#[test]
fn strangers_and_replaced_producers_add_nothing() {
    let mut harness = Harness::new();
    assert_eq!(
        harness.add(identity(1, 0), Protocol::Classic, &[orders(0)]),
        refused(ErrorCode::InvalidProducerIdMapping)
    );
    let producer = harness.init();
    let successor = harness.init();
    for (who, error) in [
        (producer, ErrorCode::ProducerFenced),
        (identity(producer.id, 7), ErrorCode::ProducerFenced),
        (identity(producer.id + 1, 1), ErrorCode::InvalidProducerIdMapping),
        (identity(-1, -1), ErrorCode::InvalidProducerIdMapping),
    ] {
        assert_eq!(harness.add(who, Protocol::Classic, &[orders(0)]), refused(error), "{who:?}");
        assert_eq!(harness.verify(who, &orders(0)), Err(error), "{who:?}");
    }
    assert_eq!(harness.state(), TransactionState::Empty);
    assert_eq!(harness.add(successor, Protocol::Classic, &[orders(0)]), Answer::Added);
}

#[test]
fn nothing_is_added_to_a_transaction_that_is_ending() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(Protocol::Classic);
    harness.begin_end(producer, Protocol::Classic, true);
    let concurrent = ErrorCode::ConcurrentTransactions;
    assert_eq!(harness.add(producer, Protocol::Classic, &[orders(0)]), refused(concurrent));
    assert_eq!(harness.verify(producer, &orders(0)), Err(concurrent));
    harness.write_markers();
    assert_eq!(harness.verify(producer, &orders(0)), Err(ErrorCode::InvalidTxnState), "that one has ended");
    assert_eq!(harness.add(producer, Protocol::Classic, &[orders(1)]), Answer::Added);
    assert_eq!(harness.verify(producer, &orders(0)), Err(ErrorCode::InvalidTxnState), "it belongs to the last one");
}

#[test]
fn of_the_epoch_that_has_ended_nothing_is_added() {
    let mut harness = Harness::new();
    let producer = harness.open(Protocol::EpochBump);
    harness.end(producer, Protocol::EpochBump, true);
    assert_eq!(harness.add(producer, Protocol::EpochBump, &[orders(0)]), refused(ErrorCode::ProducerFenced));
    assert_eq!(harness.verify(producer, &orders(0)), Err(ErrorCode::ProducerFenced));
}
