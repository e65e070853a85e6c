use super::*;

fn event(key: &str, event_type: &str, committed_ms: i64) -> Event {
    Event {
        topic: "outbox.event.order".to_owned(),
        partition: 0,
        offset: 0,
        key: key.to_owned(),
        id: String::new(),
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

const WHOLE: [(&str, i64); 5] =
    [("OrderPlaced", 1), ("PaymentCompleted", 2), ("StockReserved", 3), ("OrderConfirmed", 4), ("MailSent", 4)];

#[test]
fn every_event_once_in_order_is_right() {
    let check = check(&WHOLE);
    assert!(check.is_complete());
    assert_eq!(check.verdict(), Ok(()));
}

#[test]
fn events_of_other_orders_do_not_count() {
    let mut check = check(&WHOLE[..4]);
    check.note(&event("8", "MailSent", 4));
    assert!(!check.is_complete());
    assert!(check.verdict().unwrap_err().contains("missing MailSent"));
}

#[test]
fn the_order_of_commits_counts_not_that_of_arrival() {
    let mut arrived = WHOLE;
    arrived.swap(1, 2);
    assert_eq!(check(&arrived).verdict(), Ok(()));
}

#[test]
fn what_is_wrong_is_said() {
    let repeated = [WHOLE[0], WHOLE[1], WHOLE[1], WHOLE[2], WHOLE[3], WHOLE[4]];
    assert!(check(&repeated).verdict().unwrap_err().contains("repeated or out of order"));

    let mut reversed = WHOLE;
    reversed[1].1 = 3;
    reversed[2].1 = 2;
    assert!(check(&reversed).verdict().unwrap_err().contains("repeated or out of order"));

    assert!(check(&[]).verdict().unwrap_err().ends_with("saw nothing"));

    let mut more = WHOLE.to_vec();
    more.push(("OrderCancelled", 5));
    assert!(check(&more).verdict().unwrap_err().contains("one too many"));
}

#[test]
fn copies_are_counted_where_they_are_expected() {
    let twice = || check(&WHOLE).copies(2..=2);
    assert!(!twice().is_complete() && twice().verdict().unwrap_err().contains("missing OrderPlaced"));
    let mut both = twice();
    WHOLE.iter().for_each(|(event_type, at)| both.note(&event("7", event_type, *at)));
    assert!(both.is_complete());
    assert_eq!(both.verdict(), Ok(()));
    both.note(&event("7", "MailSent", 9));
    assert!(both.verdict().is_err());
}
