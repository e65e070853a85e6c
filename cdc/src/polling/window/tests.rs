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
