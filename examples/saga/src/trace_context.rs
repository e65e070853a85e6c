//! Carrying a trace across HTTP and Kafka headers, as W3C Trace Context and Baggage; callers that still send Zipkin's B3
//! headers are understood, too. Into outbox rows it is carried by `pillion_outbox`.
//!
//! Invariant: what arrives malformed starts a new trace instead of joining a wrong one.

mod b3;

use std::collections::HashMap;

use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator as _};
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, TraceId};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

/// The headers that carry a trace, in the order in which they are written.
const FIELDS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The context that headers carry. Of several headers with one name the last counts; without a valid `traceparent`, or
/// B3's headers in its place, the context holds no span, and what is started under it begins a new trace.
pub fn remote<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Context {
    let mut carrier: HashMap<String, String> = headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .filter(|(name, _)| FIELDS.contains(&name.as_str()) || b3::FIELDS.contains(&name.as_str()))
        .collect();
    if !carrier.get("traceparent").is_some_and(|value| is_well_formed(value)) {
        match b3::as_traceparent(|name| carrier.get(name).map(String::as_str)) {
            Some(traceparent) => carrier.insert("traceparent".to_owned(), traceparent),
            None => carrier.remove("traceparent"),
        };
    }
    propagator().extract_with_context(&Context::new(), &carrier)
}

/// The current span's context as headers: `traceparent` first. None outside of any span; an empty one is never sent.
pub fn current_fields() -> Vec<(&'static str, String)> {
    fields(&Context::current())
}

/// The trace the current span belongs to; `None` outside of any span.
pub fn current_trace_id() -> Option<TraceId> {
    let context = Context::current();
    let span_context = context.span().span_context().clone();
    span_context.is_valid().then(|| span_context.trace_id())
}

/// The current span as a text to be kept in a table: [`kept`] reads it. Empty outside of any span.
pub fn to_keep() -> String {
    let lines = current_fields().into_iter().map(|(name, value)| format!("{name}: {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The context that [`to_keep`] wrote.
pub fn kept(text: &str) -> Context {
    remote(text.lines().filter_map(|line| line.split_once(": ")))
}

fn fields(context: &Context) -> Vec<(&'static str, String)> {
    let mut carrier = HashMap::new();
    propagator().inject_context(context, &mut carrier);
    if !carrier.contains_key("traceparent") {
        return Vec::new();
    }
    FIELDS
        .into_iter()
        .filter_map(|name| Some((name, carrier.remove(name).filter(|value| !value.is_empty())?)))
        .collect()
}

fn propagator() -> TextMapCompositePropagator {
    TextMapCompositePropagator::new(vec![Box::new(TraceContextPropagator::new()), Box::new(BaggagePropagator::new())])
}

/// The shape the specification asks for, which the SDK's parser is lax about: `00-<32 hex>-<16 hex>-<2 hex>`, lower
/// case. A version above 00 may be followed by more fields.
fn is_well_formed(traceparent: &str) -> bool {
    let bytes = traceparent.as_bytes();
    let shaped = bytes.len() >= 55
        && bytes[..55].iter().enumerate().all(|(position, byte)| match position {
            2 | 35 | 52 => *byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    shaped
        && !traceparent.starts_with("ff")
        && match bytes.get(55) {
            None => true,
            Some(next) => *next == b'-' && !traceparent.starts_with("00"),
        }
}

#[cfg(test)]
mod tests;
