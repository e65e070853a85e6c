use super::*;

fn event(key: &str, number: i64) -> Event {
    Event { id: format!("{key}-{number}"), key: key.to_owned(), number }
}

fn ledger(events: &[Event]) -> Ledger {
    let mut ledger = Ledger::default();
    for event in events {
        ledger.take(event.clone());
    }
    ledger
}

#[test]
fn what_was_committed_and_seen_in_order_breaks_nothing() {
    let events = [event("a", 1), event("b", 1), event("a", 3), event("b", 2)];
    assert_eq!(ledger(&events).audit(&events.iter().cloned().collect()), []);
}

#[test]
fn every_breach_is_found() {
    let (first, second, third) = (event("a", 1), event("a", 2), event("a", 3));
    let committed = |events: &[&Event]| events.iter().map(|&event| event.clone()).collect::<HashSet<_>>();
    let seen = ledger(&[first.clone(), first.clone()]);
    assert_eq!(seen.audit(&committed(&[&first])), [Breach::Repeated(first.clone())]);
    let seen = ledger(&[second.clone(), first.clone()]);
    assert_eq!(seen.audit(&committed(&[&first, &second])), [Breach::SteppedBack(first.clone(), 2)]);
    let seen = ledger(&[first.clone(), third.clone()]);
    assert_eq!(seen.audit(&committed(&[&first, &second])), [Breach::Lost(second), Breach::Unknown(third)]);
}
