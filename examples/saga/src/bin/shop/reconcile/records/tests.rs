use super::*;

/// Placed at the millisecond 1,000.
const ID: Uuid = Uuid::from_u128(1_000 << 80);
const LATER: i64 = 2_000;

fn details() -> Details {
    Details { customer: "ada".into(), sku: "bicycle".into(), quantity: 2, amount_cents: 500 }
}

fn order(state: &str, saga: &str) -> Order {
    Order { state: state.into(), saga: saga.into(), is_parked: false, was_resumed: false, details: details() }
}

fn confirmed() -> Records {
    Records {
        order: Some(order("CONFIRMED", "COMPLETED")),
        payment: Some(Payment { state: "COMPLETED".into(), amount_cents: 500, customer: "ada".into() }),
        reservation: Some(Reservation { state: "RESERVED".into(), sku: "bicycle".into(), quantity: 2 }),
        shown: Some(Shown { state: "CONFIRMED".into(), quantity: 2, amount_cents: 500 }),
    }
}

fn cancelled() -> Records {
    let mut records = confirmed();
    records.order = Some(order("CANCELLED", "COMPENSATED"));
    records.payment.as_mut().unwrap().state = "REFUNDED".into();
    records.reservation.as_mut().unwrap().state = "UNAVAILABLE".into();
    records.shown.as_mut().unwrap().state = "CANCELLED".into();
    records
}

fn kinds(mut records: Records, change: impl Fn(&mut Records)) -> Vec<Kind> {
    change(&mut records);
    records.judge(ID, LATER).into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn orders_that_ended_right_are_no_finding() {
    assert_eq!(kinds(confirmed(), |_| ()), []);
    assert_eq!(kinds(cancelled(), |_| ()), []);
    let declined = |records: &mut Records| {
        records.payment.as_mut().unwrap().state = "DECLINED".into();
        records.reservation = None;
    };
    assert_eq!(kinds(cancelled(), declined), []);
}

#[test]
fn what_a_confirmed_order_lacks_is_found() {
    assert_eq!(kinds(confirmed(), |records| records.payment = None), [Kind::PaymentMissing]);
    assert_eq!(kinds(confirmed(), |records| records.reservation = None), [Kind::StockMissing]);
    let refunded = |records: &mut Records| records.payment.as_mut().unwrap().state = "REFUNDED".into();
    assert_eq!(kinds(confirmed(), refunded), [Kind::PaymentContradicts]);
    let cheaper = |records: &mut Records| records.payment.as_mut().unwrap().amount_cents = 499;
    assert_eq!(kinds(confirmed(), cheaper), [Kind::PaymentContradicts]);
    let released = |records: &mut Records| records.reservation.as_mut().unwrap().state = "RELEASED".into();
    assert_eq!(kinds(confirmed(), released), [Kind::StockContradicts]);
}

#[test]
fn what_a_cancelled_order_has_left_is_found() {
    let charged = |records: &mut Records| records.payment.as_mut().unwrap().state = "COMPLETED".into();
    assert_eq!(kinds(cancelled(), charged), [Kind::PaymentLeft]);
    let reserved = |records: &mut Records| records.reservation.as_mut().unwrap().state = "RESERVED".into();
    assert_eq!(kinds(cancelled(), reserved), [Kind::StockLeft]);
    let mut other = cancelled();
    other.reservation = Some(Reservation { state: "RESERVED".into(), sku: "tandem".into(), quantity: 1 });
    let details = &other.judge(ID, LATER)[0].details;
    assert_eq!((details.sku.as_str(), details.quantity), ("tandem", 1), "what is put back is what was taken");
}

#[test]
fn what_belongs_to_no_order_is_found_with_what_a_command_needs() {
    let mut records = confirmed();
    records.order = None;
    let findings = records.judge(ID, LATER);
    let kinds: Vec<Kind> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::PaymentWithoutOrder, Kind::StockWithoutOrder, Kind::HistoryDiffers]);
    assert_eq!((findings[0].details.amount_cents, findings[0].details.customer.as_str()), (500, "ada"));
    assert_eq!((findings[1].details.quantity, findings[1].details.sku.as_str()), (2, "bicycle"));
}

#[test]
fn a_saga_that_does_not_end_is_stuck_and_nothing_else_is_said_about_it() {
    let stuck = |records: &mut Records| records.order = Some(order("PENDING", "STARTED"));
    assert_eq!(kinds(cancelled(), stuck), [Kind::SagaStuck]);
    let again = |records: &mut Records| {
        records.order = Some(Order { was_resumed: true, is_parked: true, ..order("CONFIRMED", "STARTED") });
    };
    assert_eq!(kinds(confirmed(), again), [Kind::SagaStuckAgain]);
}

#[test]
fn the_history_is_held_against_the_order() {
    assert_eq!(kinds(confirmed(), |records| records.shown = None), [Kind::HistoryDiffers]);
    let pending = |records: &mut Records| records.shown.as_mut().unwrap().state = "PENDING".into();
    assert_eq!(kinds(confirmed(), pending), [Kind::HistoryDiffers]);
    let dearer = |records: &mut Records| records.shown.as_mut().unwrap().amount_cents = 501;
    assert_eq!(kinds(confirmed(), dearer), [Kind::HistoryDiffers]);
}

#[test]
fn an_order_that_may_be_under_way_is_not_judged() {
    let records = Records { order: Some(order("PENDING", "STARTED")), ..Records::default() };
    assert!(records.judge(ID, 1_000).is_empty());
    assert_eq!(records.judge(ID, 1_001).len(), 1);
}

#[test]
fn stock_is_what_was_received_less_what_is_reserved() {
    let count = |available| StockCount { sku: "bicycle".into(), received: 100, available, reserved: 3 };
    assert_eq!(count(97).judge(), None);
    assert_eq!(count(98).judge().unwrap().kind, Kind::StockMiscounted);
}
