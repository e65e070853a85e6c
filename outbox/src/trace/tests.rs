use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use pillion_trace_context::TracingSpanContext;

use super::tracing_span_context;

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn context(trace_id: &str, flags: u8, state: TraceState) -> Context {
    let trace_id = TraceId::from_hex(trace_id).unwrap();
    let span_id = SpanId::from_hex("00f067aa0ba902b7").unwrap();
    Context::new().with_remote_span_context(SpanContext::new(trace_id, span_id, TraceFlags::new(flags), true, state))
}

fn sampled() -> Context {
    context("4bf92f3577b34da6a3ce929d0e0e4736", 1, TraceState::NONE)
}

#[test]
fn a_span_becomes_its_traceparent() {
    assert_eq!(tracing_span_context(&sampled()), Some(format!("traceparent={TRACEPARENT}")));
}

#[test]
fn flags_are_kept_bit_by_bit() {
    let text = tracing_span_context(&context("4bf92f3577b34da6a3ce929d0e0e4736", 2, TraceState::NONE)).unwrap();
    assert!(text.ends_with("-02"), "{text}");
}

#[test]
fn no_span_and_ids_of_zero_are_no_context() {
    assert_eq!(tracing_span_context(&Context::new()), None);
    assert_eq!(tracing_span_context(&context("00000000000000000000000000000000", 1, TraceState::NONE)), None);
    let baggage = Context::new().with_baggage([KeyValue::new("tenant", "7")]);
    assert_eq!(tracing_span_context(&baggage), None, "baggage alone joins nothing");
}

#[test]
fn tracestate_and_baggage_are_read_back_by_the_connector() {
    let state = TraceState::from_key_value([("vendor", "a\\b:c"), ("other", "1")]).unwrap();
    let context = context("4bf92f3577b34da6a3ce929d0e0e4736", 1, state)
        .with_baggage([KeyValue::new("tenant", "blue = gr\u{fc}n, \\")]);
    let text = tracing_span_context(&context).unwrap();
    let read = TracingSpanContext::parse(&text).unwrap();
    assert_eq!(read.traceparent.to_string(), TRACEPARENT);
    assert_eq!(read.tracestate.unwrap().as_str(), "vendor=a\\b:c,other=1");
    assert_eq!(read.baggage.unwrap(), context.baggage().to_string());
}

#[test]
fn baggage_too_long_to_send_is_left_out() {
    let context = sampled().with_baggage((0..20).map(|number| KeyValue::new(format!("k{number}"), " ".repeat(200))));
    assert!(context.baggage().to_string().len() > super::BAGGAGE_BYTES_MAX, "each blank takes three bytes");
    assert_eq!(tracing_span_context(&context), Some(format!("traceparent={TRACEPARENT}")));
}
