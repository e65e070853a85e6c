//! Ids that nobody uses any more.

use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::Answer;
use super::super::event::Protocol::EpochBump;
use super::super::state::TransactionState;
use super::harness::{FIRST_PRODUCER_ID, Harness, ID};
use super::values::{identity, orders, refused};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

#[test]
fn an_id_that_was_silent_for_long_is_forgotten_and_begins_anew() {
    let mut harness = Harness::new();
    let producer = harness.open(EpochBump);
    harness.end(producer, EpochBump, true);
    harness.pass(WEEK - Duration::from_millis(1));
    harness.expire();
    assert!(harness.shard.describe(ID).is_some());
    harness.pass(Duration::from_millis(1));
    harness.expire();
    assert!(harness.shard.describe(ID).is_none());
    assert!(harness.log.last().is_some_and(|record| record.value.is_none()));
    let stale = identity(producer.id, 1);
    assert_eq!(harness.add(stale, EpochBump, &[orders(0)]), refused(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(harness.init(), identity(FIRST_PRODUCER_ID + 1, 0), "not the id of old, which may be in some log");
    harness.restart();
    assert_eq!(harness.value().producer_id, FIRST_PRODUCER_ID + 1);
}

#[test]
fn an_id_with_a_transaction_is_kept() {
    let mut harness = Harness::new();
    harness.are_markers_prompt = false;
    let producer = harness.open(EpochBump);
    harness.begin_end(producer, EpochBump, true);
    harness.pass(WEEK * 2);
    harness.expire();
    assert_eq!(harness.state(), TransactionState::PrepareCommit);
}

#[test]
fn an_id_that_comes_back_while_it_is_being_forgotten_is_kept() {
    let mut harness = Harness::new();
    let producer = harness.init();
    harness.pass(WEEK);
    harness.is_log_prompt = false;
    harness.expire();
    let waiter = harness.begin_init();
    harness.flush();
    assert_eq!(harness.answer(waiter), Some(Answer::Producer(identity(producer.id, 1))));
    harness.is_log_prompt = true;
    harness.restart();
    assert_eq!(harness.value().epoch, 1);
}

#[test]
fn an_id_is_not_forgotten_twice() {
    let mut harness = Harness::new();
    harness.init();
    harness.pass(WEEK);
    harness.is_log_prompt = false;
    harness.expire();
    harness.expire();
    assert_eq!(harness.in_flight.len(), 1);
}

#[test]
fn of_very_many_ids_some_are_forgotten_each_time_until_none_is_left() {
    let mut harness = Harness::new();
    for number in 0..2_500 {
        let waiter = harness.waiter();
        let init =
            super::super::event::Init { waiter, timeout_ms: 1_000, current: None, fresh_producer_id: Some(number) };
        let mut actions = Vec::new();
        harness.shard.init(&format!("id-{number}").into(), init, harness.now, &mut actions);
        harness.settle(actions);
    }
    harness.pass(WEEK);
    let mut rounds = 0;
    while !harness.shard.list(harness.now.wall_ms).is_empty() {
        harness.expire();
        rounds += 1;
        assert!(rounds < 10);
    }
    assert!(rounds > 1);
}
