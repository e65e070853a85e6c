use super::*;

fn seen(horizon: u64, ahead: &[u64]) -> Seen {
    Seen { horizon, ahead: ahead.iter().copied().collect() }
}

#[test]
fn a_window_survives_its_text() {
    for window in [
        Window { number: 7, before: seen(0, &[]), after: seen(20, &[20, 23, 29]) },
        Window { number: u64::MAX, before: seen(20, &[23]), after: seen(1 << 40, &[]) },
    ] {
        let text = window.to_text();
        assert_eq!(Window::parse(&text), Ok(window), "{text}");
    }
    let text = Window { number: 7, before: seen(5, &[]), after: seen(20, &[20, 23, 29]) }.to_text();
    assert_eq!(text, "polling1 7 5 20:0,3,6");
}

#[test]
fn other_texts_are_refused() {
    let too_many = format!("polling1 1 0 0:{}", vec!["1"; AHEAD_MAX + 1].join(","));
    for wrong in [
        "",
        "10:20:15",
        "polling2 1 2 3",
        "polling1 1 2",
        "polling1 1 2 3 4",
        "polling1 1 2 3:x",
        "polling1 1 -2 3",
        "polling1 1 2 18446744073709551615:1",
        &too_many,
    ] {
        assert_eq!(Window::parse(wrong), Err(WindowError), "{}", &wrong[..wrong.len().min(60)]);
    }
}

#[test]
fn the_horizon_stops_at_open_transactions_and_behind_the_latest_row_and_never_goes_back() {
    // Nothing is open: up to the latest row, for ids behind it may be given out again.
    assert_eq!(seen(5, &[]).next(20, 12, []), seen(13, &[]));
    // Transaction 10 is open; those above it that have rows are named.
    assert_eq!(seen(5, &[]).next(10, 12, [10, 12]), seen(10, &[10, 12]));
    assert_eq!(seen(10, &[12]).next(14, 12, [12]), seen(13, &[]));
    // After a crash ids start over below what was given out, and above what was seen.
    assert_eq!(seen(13, &[]).next(13, 0, []), seen(13, &[]));
}
