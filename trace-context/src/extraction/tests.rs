//! How the headers of a message become one context, and back.

use opentelemetry::trace::{SpanId, TraceFlags, TraceId};
use proptest::prelude::*;

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-11111111111111111111111111111111-2222222222222222-00";

fn read(headers: &[(&str, Option<&str>)]) -> Option<TraceContext> {
    TraceContext::from_headers(headers.iter().map(|(name, value)| (*name, value.map(str::as_bytes))))
}

fn full_context() -> TraceContext {
    TraceContext {
        traceparent: PARENT.parse().unwrap(),
        tracestate: Some("rojo=1,congo=2".parse().unwrap()),
        baggage: Some("user=42;secret=no".into()),
    }
}

#[test]
fn last_header_of_a_name_wins() {
    let context = read(&[("traceparent", Some(OTHER)), ("traceparent", Some(PARENT))]).unwrap();
    assert_eq!(context.traceparent.to_string(), PARENT);
    assert_eq!(read(&[("traceparent", Some(PARENT)), ("traceparent", Some("nonsense"))]), None);
    assert_eq!(read(&[("traceparent", Some(PARENT)), ("traceparent", None)]), None);
}

#[test]
fn names_match_in_any_case() {
    let context =
        read(&[("TraceParent", Some(PARENT)), ("TRACESTATE", Some("a=1")), ("Baggage", Some("b=2"))]).unwrap();
    assert_eq!(context.tracestate.unwrap().as_str(), "a=1");
    assert_eq!(context.baggage.unwrap(), "b=2");
}

#[test]
fn bad_tracestate_or_baggage_never_spoils_the_traceparent() {
    for (name, value) in
        [("tracestate", "no member"), ("tracestate", ""), ("baggage", " "), ("baggage", "a=1\r\nevil: 1")]
    {
        let context = read(&[("traceparent", Some(PARENT)), (name, Some(value))]).unwrap();
        assert_eq!(context, TraceContext::from(PARENT.parse::<TraceParent>().unwrap()), "{name}: {value:?}");
    }
    let not_text: &[u8] = &[0xff, 0xfe];
    let headers =
        [("traceparent", Some(PARENT.as_bytes())), ("tracestate", Some(not_text)), ("baggage", Some(not_text))];
    assert_eq!(TraceContext::from_headers(headers).unwrap().tracestate, None);
}

#[test]
fn baggage_beyond_its_limit_is_dropped() {
    let longest = "b".repeat(MAX_BAGGAGE_BYTES);
    let headers = |baggage: &str| read(&[("traceparent", Some(PARENT)), ("baggage", Some(baggage))]).unwrap().baggage;
    assert_eq!(headers(&longest), Some(longest.clone()));
    assert_eq!(headers(&format!("{longest}b")), None);
}

#[test]
fn tracestate_without_a_valid_traceparent_means_nothing() {
    assert_eq!(read(&[("tracestate", Some("a=1"))]), None);
    let b3 = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1";
    let context = read(&[("traceparent", Some("nonsense")), ("tracestate", Some("a=1")), ("b3", Some(b3))]).unwrap();
    assert_eq!(context, TraceContext::from(PARENT.parse::<TraceParent>().unwrap()));
}

#[test]
fn valid_traceparent_comes_before_b3() {
    let context = read(&[("b3", Some("0")), ("traceparent", Some(PARENT))]).unwrap();
    assert_eq!(context.traceparent.to_string(), PARENT);
}

#[test]
fn injected_headers_are_extracted_unchanged() {
    for context in [full_context(), TraceContext::from(PARENT.parse::<TraceParent>().unwrap())] {
        let mut headers: Vec<(&str, Vec<u8>)> = Vec::new();
        context.inject(|name, value| headers.push((name, value.to_vec())));
        let read = TraceContext::from_headers(headers.iter().map(|(name, value)| (*name, Some(value.as_slice()))));
        assert_eq!(read, Some(context));
    }
}

#[test]
fn opentelemetry_context_has_the_same_remote_parent() {
    let context = full_context();
    let opentelemetry = context.to_opentelemetry();
    assert!(opentelemetry.span().span_context().is_remote());
    let expected = TraceContext { baggage: None, ..context };
    assert_eq!(TraceContext::from_opentelemetry(&opentelemetry), Some(expected));
    assert_eq!(TraceContext::from_opentelemetry(&Context::new()), None);
}

#[test]
fn continued_context_takes_the_spans_ids_and_keeps_state_and_baggage() {
    let context = full_context();
    let parent = context.to_span_context();
    let child = SpanContext::new(
        parent.trace_id(),
        SpanId::from_bytes([7; 8]),
        TraceFlags::SAMPLED,
        false,
        parent.trace_state().clone(),
    );
    let continued = context.continued_by(&child);
    assert_eq!(continued.traceparent.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-01");
    assert_eq!((&continued.tracestate, &continued.baggage), (&context.tracestate, &context.baggage));
}

#[test]
fn span_without_ids_leaves_the_context_as_it_is() {
    let context = full_context();
    assert_eq!(context.continued_by(&SpanContext::NONE), context);
    let no_span_id =
        SpanContext::new(TraceId::from_bytes([1; 16]), SpanId::INVALID, TraceFlags::SAMPLED, false, Default::default());
    assert_eq!(context.continued_by(&no_span_id), context);
}

proptest! {
    #[test]
    fn arbitrary_headers_never_panic(
        headers in proptest::collection::vec(
            ("(traceparent|tracestate|baggage|b3|X-B3-[A-Za-z]{0,8})", proptest::option::of(proptest::collection::vec(any::<u8>(), 0..80))),
            0..12,
        ),
    ) {
        let _ = TraceContext::extract(headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())));
    }
}
