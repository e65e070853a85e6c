//! What W3C Trace Context accepts and refuses in a `tracestate`.

use proptest::prelude::*;

use super::*;

fn check_read(text: &str, expected: &str) {
    assert_eq!(TraceState::parse(text).as_ref().map(TraceState::as_str), Ok(expected), "{text}");
}

fn check_refused(text: &str, expected: InvalidTraceState) {
    assert_eq!(TraceState::parse(text), Err(expected), "{text}");
}

#[test]
fn members_keep_their_order_and_lose_the_blanks_around_them() {
    check_read("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
    check_read(" rojo=1 ,\tcongo=2\t, ,,", "rojo=1,congo=2");
    check_read("a= b c!~", "a= b c!~");
    check_read("0a_-*/=1,tenant@system=2", "0a_-*/=1,tenant@system=2");
}

#[test]
fn first_member_of_a_repeated_key_stays() {
    check_read("a=new,b=1,a=old", "a=new,b=1");
}

#[test]
fn empty_tracestate_is_not_sent() {
    for text in ["", " ", ",", " , \t,"] {
        check_refused(text, InvalidTraceState::Empty);
    }
}

#[test]
fn malformed_members_are_refused() {
    for text in [
        "a",
        "=1",
        "a=",
        "A=1",
        "a b=1",
        "a=1=2",
        "a=b\u{7f}",
        "a=é",
        "é=1",
        "@a=1",
        "a@=1",
        "a@@b=1",
        "a@b@c=1",
        "-a=1",
        "a=1,b",
        "a.b=1",
        "a=\n",
    ] {
        check_refused(text, InvalidTraceState::Member);
    }
}

#[test]
fn keys_and_values_have_their_longest_lengths() {
    for (key, is_valid) in [
        ("z".repeat(256), true),
        ("z".repeat(257), false),
        (format!("{}@v", "t".repeat(241)), true),
        (format!("{}@v", "t".repeat(242)), false),
        (format!("t@{}", "v".repeat(14)), true),
        (format!("t@{}", "v".repeat(15)), false),
    ] {
        assert_eq!(TraceState::parse(&format!("{key}=1")).is_ok(), is_valid, "{key}");
    }
    assert!(TraceState::parse(&format!("a={}", "v".repeat(256))).is_ok());
    assert!(TraceState::parse(&format!("a={}", "v".repeat(257))).is_err());
}

#[test]
fn thirty_two_members_are_read_and_thirty_three_refused() {
    let members = |count: usize| (0..count).map(|index| format!("k{index}=v")).collect::<Vec<_>>().join(",");
    check_read(&members(32), &members(32));
    check_refused(&members(33), InvalidTraceState::TooManyMembers);
    check_refused(&"a=1,".repeat(33), InvalidTraceState::TooManyMembers);
    check_refused(&",".repeat(MAX_INPUT_BYTES + 1), InvalidTraceState::TooManyMembers);
}

#[test]
fn too_long_tracestate_loses_large_members_first_and_then_the_last() {
    let large = format!("large={}", "v".repeat(200));
    let small: Vec<String> = (0..4).map(|index| format!("small{index}={}", "v".repeat(90))).collect();
    check_read(&format!("{large},{}", small.join(",")), &small.join(","));

    let many: Vec<String> = (0..8).map(|index| format!("many{index}={}", "v".repeat(90))).collect();
    check_read(&many.join(","), &many[..5].join(","));
}

#[test]
fn opentelemetry_reads_and_returns_the_same_members() {
    let state = TraceState::parse("0a=1,tenant@system=x y").unwrap();
    assert_eq!(state.to_opentelemetry().header(), state.as_str());
    assert_eq!(TraceState::from_opentelemetry(&state.to_opentelemetry()), Some(state));
    assert_eq!(TraceState::from_opentelemetry(&opentelemetry::trace::TraceState::NONE), None);
}

proptest! {
    #[test]
    fn whatever_is_read_keeps_the_invariant(text in "([a-z0-9@]{0,4}=?[ -~]{0,200},?){0,40}") {
        if let Ok(state) = TraceState::parse(&text) {
            prop_assert!(!state.as_str().is_empty() && state.as_str().len() <= MAX_TRACESTATE_BYTES);
            prop_assert!(state.members().count() <= MAX_TRACESTATE_MEMBERS);
            prop_assert_eq!(TraceState::parse(state.as_str()), Ok(state));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = TraceState::parse(&text);
    }
}
