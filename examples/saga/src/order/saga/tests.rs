use super::*;
use crate::events::{
    MAIL_REFUSED, MAIL_SENT, PAYMENT_COMPLETED, PAYMENT_DECLINED, PAYMENT_REFUNDED, STOCK_RELEASED, STOCK_RESERVED,
    STOCK_UNAVAILABLE,
};

mod services;

const LIMITS: Limits = Limits { step_ms: 100, step_ms_max: 1_000, attempts_max: 3, deadline_ms: 10_000 };

/// What a saga publishes, and in which state it ends, when these answers come.
fn story(style: Style, answers: &[EventKind]) -> (Vec<&'static str>, Saga) {
    let begun = Saga::begin(style, &LIMITS, 0);
    let mut published: Vec<&str> = begun.publish.iter().map(|kind| kind.name).collect();
    let mut saga = begun.saga;
    for answer in answers {
        if let Some(moved) = saga.apply(Input::Answer(*answer, Some("because")), &LIMITS, 1) {
            assert!(!moved.entries.is_empty(), "a change is written down");
            published.extend(moved.publish.iter().map(|kind| kind.name));
            saga = moved.saga;
        }
    }
    (published, saga)
}

fn check(style: Style, answers: &[EventKind], state: State, published: &[&str]) {
    let (said, saga) = story(style, answers);
    assert_eq!(said, published, "{style:?} {answers:?}");
    assert_eq!(saga.state, state, "{style:?} {answers:?}");
}

#[test]
fn an_orchestrated_saga_asks_for_each_step_and_completes() {
    check(
        Style::Orchestrated,
        &[PAYMENT_COMPLETED, STOCK_RESERVED, MAIL_SENT],
        State::Completed,
        &["OrderPlaced", "ChargePayment", "ReserveStock", "OrderConfirmed", "SendMail"],
    );
}

#[test]
fn a_choreographed_saga_asks_nobody_and_completes() {
    let answers = [PAYMENT_COMPLETED, STOCK_RESERVED, MAIL_SENT];
    check(Style::Choreographed, &answers, State::Completed, &["OrderPlaced", "OrderConfirmed"]);
}

#[test]
fn a_declined_payment_aborts_with_nothing_to_undo() {
    let said = ["OrderPlaced", "ChargePayment", "OrderCancelled"];
    check(Style::Orchestrated, &[PAYMENT_DECLINED], State::Aborted, &said);
    check(Style::Choreographed, &[PAYMENT_DECLINED], State::Aborted, &["OrderPlaced", "OrderCancelled"]);
}

#[test]
fn missing_stock_is_compensated_by_a_refund() {
    let answers = [PAYMENT_COMPLETED, STOCK_UNAVAILABLE, PAYMENT_REFUNDED];
    let said = ["OrderPlaced", "ChargePayment", "ReserveStock", "RefundPayment", "OrderCancelled"];
    check(Style::Orchestrated, &answers, State::Compensated, &said);
    check(Style::Choreographed, &answers, State::Compensated, &["OrderPlaced", "OrderCancelled"]);
}

#[test]
fn compensation_goes_backwards() {
    let answers = [PAYMENT_COMPLETED, STOCK_RESERVED, MAIL_REFUSED, STOCK_RELEASED, PAYMENT_REFUNDED];
    let (said, saga) = story(Style::Orchestrated, &answers);
    assert_eq!(said[5..], ["ReleaseStock", "RefundPayment", "OrderCancelled"]);
    assert_eq!(saga.state, State::Compensated);
    assert_eq!(saga.reason.as_deref(), Some("because"));
    let (said, saga) = story(Style::Orchestrated, &answers[..3]);
    assert_eq!(said.last(), Some(&"ReleaseStock"), "the refund waits for the release");
    assert_eq!((saga.step(Step::Stock), saga.step(Step::Payment)), (StepState::Undoing, StepState::Succeeded));
}

#[test]
fn an_effect_that_is_heard_before_its_cause_stands_for_both() {
    let said = ["OrderPlaced", "OrderConfirmed"];
    check(Style::Choreographed, &[STOCK_RESERVED, PAYMENT_COMPLETED, MAIL_SENT], State::Completed, &said);
    let said = ["OrderPlaced", "OrderCancelled"];
    check(Style::Choreographed, &[PAYMENT_REFUNDED, STOCK_UNAVAILABLE], State::Compensated, &said);
    check(Style::Choreographed, &[STOCK_UNAVAILABLE, PAYMENT_REFUNDED], State::Compensated, &said);
    let said = ["OrderPlaced", "OrderConfirmed", "OrderCancelled"];
    check(Style::Choreographed, &[STOCK_RESERVED, PAYMENT_REFUNDED], State::Compensated, &said);
    check(Style::Choreographed, &[STOCK_RESERVED, STOCK_RELEASED, PAYMENT_REFUNDED], State::Compensated, &said);
}

#[test]
fn an_orchestrated_saga_ignores_what_it_has_not_asked_for() {
    for stray in [STOCK_RESERVED, STOCK_UNAVAILABLE, STOCK_RELEASED, PAYMENT_REFUNDED, MAIL_SENT, MAIL_REFUSED] {
        let saga = Saga::begin(Style::Orchestrated, &LIMITS, 0).saga;
        assert_eq!(saga.apply(Input::Answer(stray, None), &LIMITS, 1), None, "{stray:?}");
    }
}

#[test]
fn a_final_saga_never_changes() {
    let (_, saga) = story(Style::Choreographed, &[PAYMENT_DECLINED]);
    for input in [Input::Answer(PAYMENT_COMPLETED, None), Input::Tick, Input::Resume, Input::Compensate] {
        assert_eq!(saga.apply(input, &LIMITS, 1_000_000), None);
    }
}

#[test]
fn unanswered_steps_are_asked_for_again_ever_later_and_then_parked() {
    let mut saga = Saga::begin(Style::Orchestrated, &LIMITS, 0).saga;
    assert_eq!(saga.apply(Input::Tick, &LIMITS, 99), None, "it is not due yet");
    for wait in [200, 400, 800] {
        let now = saga.due;
        let moved = saga.apply(Input::Tick, &LIMITS, now).unwrap();
        assert_eq!(moved.publish, [CHARGE_PAYMENT]);
        assert_eq!(moved.saga.due - now, wait);
        saga = moved.saga;
    }
    let parked = saga.apply(Input::Tick, &LIMITS, saga.due).unwrap();
    assert!(parked.saga.is_parked && parked.publish.is_empty());
    assert_eq!(parked.saga.apply(Input::Tick, &LIMITS, 9_999), None, "nobody asks any more");
    let resumed = parked.saga.apply(Input::Resume, &LIMITS, 5_000).unwrap();
    assert_eq!(resumed.publish, [CHARGE_PAYMENT]);
    assert!(!resumed.saga.is_parked);
    let late = parked.saga.apply(Input::Answer(PAYMENT_COMPLETED, None), &LIMITS, 5_000).unwrap();
    assert!(!late.saga.is_parked, "a late answer is as good as any");
}

#[test]
fn a_choreographed_saga_says_its_own_part_again() {
    let (_, saga) = story(Style::Choreographed, &[PAYMENT_COMPLETED]);
    assert_eq!(saga.apply(Input::Tick, &LIMITS, 9_999).unwrap().publish, [ORDER_PLACED]);
    let (_, saga) = story(Style::Choreographed, &[PAYMENT_COMPLETED, STOCK_RESERVED]);
    assert_eq!(saga.apply(Input::Tick, &LIMITS, 9_999).unwrap().publish, [ORDER_CONFIRMED]);
}

#[test]
fn past_its_deadline_an_orchestrated_saga_undoes_what_may_have_been_done() {
    let (_, saga) = story(Style::Orchestrated, &[PAYMENT_COMPLETED]);
    let moved = saga.apply(Input::Tick, &LIMITS, 10_000).unwrap();
    assert_eq!(moved.publish, [RELEASE_STOCK], "the unanswered step first");
    assert_eq!(moved.saga.reason.as_deref(), Some("not done in time"));
    let (_, saga) = story(Style::Orchestrated, &[PAYMENT_COMPLETED, STOCK_RESERVED]);
    assert_eq!(saga.apply(Input::Tick, &LIMITS, 10_000).unwrap().publish, [SEND_MAIL], "too late to give up");
}

#[test]
fn names_are_read_back() {
    for state in State::ALL {
        assert_eq!(State::named(state.name()), Some(state));
    }
    for state in [StepState::Untouched, StepState::Asked, StepState::Undone] {
        assert_eq!(StepState::named(state.name()), Some(state));
    }
    assert_eq!((State::named("stuck"), StepState::named("")), (None, None));
}
