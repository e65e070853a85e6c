//! Carrying a trace across HTTP headers, outbox rows and Kafka headers, as W3C Trace Context.
//!
//! Invariant: what arrives malformed starts a new trace instead of joining a wrong one.

use std::collections::HashMap;

use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator as _};
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, TraceId};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

/// The headers that carry a trace, in the order in which they are written.
const FIELDS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// The context that headers carry. Of several headers with one name the last counts; without a valid `traceparent` the
/// context holds no span, and what is started under it begins a new trace.
pub fn remote<'a>(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Context {
    let mut carrier: HashMap<String, String> = headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .filter(|(name, _)| FIELDS.contains(&name.as_str()))
        .collect();
    if !carrier.get("traceparent").is_some_and(|value| is_well_formed(value)) {
        carrier.remove("traceparent");
    }
    propagator().extract_with_context(&Context::new(), &carrier)
}

/// The current span's context as the text of the outbox column `tracingspancontext`: Java `Properties`, one
/// `name=value` per line. `None` outside of any span.
pub fn current_as_properties() -> Option<String> {
    as_properties(&Context::current())
}

/// The trace the current span belongs to; `None` outside of any span.
pub fn current_trace_id() -> Option<TraceId> {
    let context = Context::current();
    let span_context = context.span().span_context().clone();
    span_context.is_valid().then(|| span_context.trace_id())
}

fn as_properties(context: &Context) -> Option<String> {
    let mut carrier = HashMap::new();
    propagator().inject_context(context, &mut carrier);
    carrier.get("traceparent")?;
    let lines = FIELDS.iter().filter_map(|name| {
        // An empty tracestate must not be sent. In Properties text the backslash escapes, so it is doubled.
        let value = carrier.get(*name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={}", value.replace('\\', "\\\\")))
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
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
