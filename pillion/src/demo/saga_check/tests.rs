use super::*;

fn event(key: &str, event_type: &str, committed_ms: i64) -> Event {
    Event {
        topic: "outbox.event.order".to_owned(),
        partition: 0,
        offset: 0,
        key: key.to_owned(),
        event_type: event_type.to_owned(),
        trace_id: None,
        committed_ms,
        since_commit_ms: 1,
    }
}

fn check(types: &[(&str, i64)]) -> SagaCheck {
    let mut check = SagaCheck::new("7".to_owned(), &SUCCEEDS);
    for (event_type, committed_ms) in types {
        check.note(&event("7", event_type, *committed_ms));
    }
    check
}

const WHOLE: [(&str, i64); 4] =
    [("OrderPlaced", 1), ("PaymentCompleted", 2), ("StockReserved", 3), ("OrderConfirmed", 4)];

#[test]
fn every_event_once_in_order_is_right() {
    let check = check(&WHOLE);
    assert!(check.is_complete());
    assert_eq!(check.verdict(), Ok(()));
}

#[test]
fn events_of_other_orders_do_not_count() {
    let mut check = check(&WHOLE[..3]);
    check.note(&event("8", "OrderConfirmed", 4));
    assert!(!check.is_complete());
    assert!(check.verdict().unwrap_err().contains("missing OrderConfirmed"));
}

#[test]
fn the_order_of_commits_counts_not_that_of_arrival() {
    let mut arrived = WHOLE;
    arrived.swap(1, 2);
    assert_eq!(check(&arrived).verdict(), Ok(()));
}

#[test]
fn what_is_wrong_is_said() {
    let repeated = [WHOLE[0], WHOLE[1], WHOLE[1], WHOLE[2], WHOLE[3]];
    assert!(check(&repeated).verdict().unwrap_err().contains("repeated or out of order"));

    let reversed = [("OrderPlaced", 1), ("PaymentCompleted", 3), ("StockReserved", 2), ("OrderConfirmed", 4)];
    assert!(check(&reversed).verdict().unwrap_err().contains("repeated or out of order"));

    assert!(check(&[]).verdict().unwrap_err().ends_with("saw nothing"));
}
