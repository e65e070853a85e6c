//! B3 in its single and its many headers, seen through the public way in.

use crate::{Extraction, TraceContext};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SHORT_TRACE: &str = "a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

fn extract(headers: &[(&str, &str)]) -> Extraction {
    TraceContext::extract(headers.iter().map(|(name, value)| (*name, Some(value.as_bytes()))))
}

fn check_found(headers: &[(&str, &str)], traceparent: &str) {
    let Extraction::Found(context) = extract(headers) else {
        panic!("nothing found in {headers:?}");
    };
    assert_eq!(context.traceparent.to_string(), traceparent, "{headers:?}");
}

#[test]
fn single_header_carries_ids_and_decision() {
    let sampled = format!("00-{TRACE}-{SPAN}-01");
    let not_sampled = format!("00-{TRACE}-{SPAN}-00");
    for (value, expected) in [
        (format!("{TRACE}-{SPAN}-1"), &sampled),
        (format!("{TRACE}-{SPAN}-d"), &sampled),
        (format!("{TRACE}-{SPAN}-1-{SPAN}"), &sampled),
        (format!("{TRACE}-{SPAN}-0"), &not_sampled),
        (format!("{TRACE}-{SPAN}"), &not_sampled),
    ] {
        check_found(&[("b3", &value)], expected);
    }
}

#[test]
fn short_trace_id_is_padded_on_the_left() {
    let expected = format!("00-0000000000000000{SHORT_TRACE}-{SPAN}-01");
    check_found(&[("b3", &format!("{SHORT_TRACE}-{SPAN}-1"))], &expected);
    check_found(&[("X-B3-TraceId", SHORT_TRACE), ("X-B3-SpanId", SPAN), ("X-B3-Sampled", "1")], &expected);
}

#[test]
fn many_headers_carry_ids_and_decision_in_any_case() {
    let ids = [("x-b3-traceid", TRACE), ("X-B3-SPANID", SPAN)];
    for (decision, flags) in [
        (("X-B3-Sampled", "1"), "01"),
        (("X-B3-Sampled", "true"), "01"),
        (("X-B3-Flags", "1"), "01"),
        (("X-B3-Sampled", "0"), "00"),
        (("X-B3-Sampled", "maybe"), "00"),
    ] {
        check_found(&[ids[0], ids[1], decision], &format!("00-{TRACE}-{SPAN}-{flags}"));
    }
}

#[test]
fn single_header_comes_before_the_many_and_an_invalid_one_does_not() {
    let many = [("X-B3-TraceId", "ffffffffffffffffffffffffffffffff"), ("X-B3-SpanId", "ffffffffffffffff")];
    check_found(&[many[0], many[1], ("b3", &format!("{TRACE}-{SPAN}-1"))], &format!("00-{TRACE}-{SPAN}-01"));
    check_found(&[many[0], many[1], ("b3", "nonsense")], "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00");
}

#[test]
fn refusal_without_ids_is_told_apart_from_nothing() {
    assert_eq!(extract(&[("b3", "0")]), Extraction::Denied);
    assert_eq!(extract(&[("X-B3-Sampled", "0")]), Extraction::Denied);
    assert_eq!(extract(&[("X-B3-Sampled", "1")]), Extraction::Absent);
    assert_eq!(extract(&[("b3", "1")]), Extraction::Absent);
}

#[test]
fn malformed_b3_is_absent() {
    for value in [
        String::new(),
        "-".into(),
        TRACE.into(),
        format!("{TRACE}-{SPAN}-2"),
        format!("{TRACE}-{SPAN}-1-{SPAN}-1"),
        format!("{TRACE}-{SPAN}-1-1"),
        format!("{}-{SPAN}-1", TRACE.to_uppercase()),
        format!("{}-{SPAN}-1", "0".repeat(32)),
        format!("{}-{SPAN}-1", "0".repeat(16)),
        format!("{TRACE}-{}-1", "0".repeat(16)),
        format!("{}-{SPAN}-1", &TRACE[1..]),
    ] {
        assert_eq!(extract(&[("b3", &value)]), Extraction::Absent, "{value}");
    }
    assert_eq!(extract(&[("X-B3-TraceId", TRACE)]), Extraction::Absent);
}

#[test]
fn written_b3_is_read_back() {
    let context = TraceContext::from(format!("00-{TRACE}-{SPAN}-01").parse::<crate::TraceParent>().unwrap());
    let text = context.to_b3();
    assert_eq!(text, format!("{TRACE}-{SPAN}-1"));
    assert_eq!(extract(&[("b3", &text)]), Extraction::Found(context));
}
