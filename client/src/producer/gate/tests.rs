use std::sync::Arc;

use super::Gate;
use crate::transaction::AbortCause;

fn cause() -> Arc<AbortCause> {
    Arc::new(AbortCause::Caller)
}

fn begun(count: u64) -> Gate {
    let mut gate = Gate::default();
    (1..=count).for_each(|number| assert_eq!(gate.begin().unwrap(), number));
    gate.release(1, false);
    gate
}

#[test]
fn only_the_released_transaction_and_what_is_outside_of_any_goes_out() {
    let gate = begun(3);
    assert_eq!([0, 1, 2, 3].map(|number| gate.admits(number)), [true, true, false, false]);
}

#[test]
fn failure_dooms_what_was_begun_behind_it_and_nothing_before() {
    let mut gate = begun(4);
    gate.fail(2, &cause());
    assert_eq!([1, 2, 3, 4, 5].map(|number| gate.doom_of(number).is_some()), [false, true, true, true, false]);
}

#[test]
fn transaction_dropped_by_its_caller_dooms_no_other() {
    let mut gate = begun(3);
    gate.drop_one(2);
    assert_eq!([1, 2, 3].map(|number| gate.doom_of(number).is_some()), [false, true, false]);
    assert_eq!(gate.begin().unwrap(), 4);
}

#[test]
fn begin_tells_of_a_failure_once_unless_it_was_seen() {
    let mut gate = begun(1);
    gate.fail(1, &cause());
    assert!(gate.begin().is_err());
    assert_eq!(gate.begin().unwrap(), 2);
    gate.release(2, false);
    gate.fail(2, &cause());
    gate.seen();
    assert_eq!(gate.begin().unwrap(), 3);
}

#[test]
fn doomed_transaction_stays_doomed_when_it_is_passed_over() {
    let mut gate = begun(3);
    gate.fail(1, &cause());
    gate.release(4, false);
    assert!(gate.doom_of(3).is_some());
    assert!(gate.begin().is_err());
    assert_eq!(gate.begin().unwrap(), 4);
    gate.fail(3, &cause());
    assert!(gate.doom_of(4).is_none() && !gate.has_news());
}

#[test]
fn every_doom_is_news_once() {
    let mut gate = begun(3);
    gate.fail(3, &cause());
    assert_eq!(gate.news().iter().map(|doomed| (doomed.from, doomed.to)).collect::<Vec<_>>(), [(3, 3)]);
    gate.fail(1, &cause());
    assert!(gate.has_news());
    assert_eq!(gate.news().iter().map(|doomed| (doomed.from, doomed.to)).collect::<Vec<_>>(), [(1, 3)]);
    assert!(!gate.has_news());
    gate.release(4, false);
    assert!(!gate.has_doomed() && !gate.has_news());
}
