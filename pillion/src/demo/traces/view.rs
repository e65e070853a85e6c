//! Traces as the page wants them: JSON with times in microseconds from the trace's start.

use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as Wrapped, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::store::{SpanOfService, Store, Trace, TraceId};

/// Largest whole number that a browser reads exactly.
const EXACT_MAX: u64 = 1 << 53;

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    trace_id: String,
    root_service: String,
    root_name: String,
    /// Each once, in the order of their first spans.
    services: Vec<String>,
    spans: usize,
    errors: usize,
    /// Milliseconds since 1970.
    start_ms: f64,
    duration_us: f64,
}

/// A whole trace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WholeTrace {
    #[serde(flatten)]
    summary: Summary,
    /// Spans that came when there were enough.
    left_out: usize,
    /// By their start.
    all: Vec<SpanView>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanView {
    span_id: String,
    parent_span_id: String,
    service: String,
    name: String,
    kind: &'static str,
    start_us: f64,
    duration_us: f64,
    is_error: bool,
    status: String,
    attributes: Map<String, Value>,
    events: Vec<Value>,
    links: Vec<Value>,
}

/// Every trace, the newest first.
pub(super) fn list(store: &Store) -> Vec<Summary> {
    let mut all: Vec<Summary> = store.traces().map(|(id, trace)| summary(id, trace)).collect();
    all.sort_by(|left, right| right.start_ms.total_cmp(&left.start_ms));
    all
}

/// One trace.
pub(super) fn trace(store: &Store, id: &TraceId) -> Option<WholeTrace> {
    let trace = store.get(id)?;
    let start = start_of(trace);
    let mut spans: Vec<&SpanOfService> = trace.spans.iter().collect();
    spans.sort_by_key(|one| (one.span.start_time_unix_nano, std::cmp::Reverse(one.span.end_time_unix_nano)));
    let all = spans.into_iter().map(|one| span_view(one, start)).collect();
    Some(WholeTrace { summary: summary(id, trace), left_out: trace.left_out, all })
}

/// A trace id of 32 hexadecimal digits.
pub(super) fn parse_trace_id(text: &str) -> Option<TraceId> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
}

fn summary(id: &TraceId, trace: &Trace) -> Summary {
    let start = start_of(trace);
    let end = trace.spans.iter().map(|one| one.span.end_time_unix_nano).max().unwrap_or(start);
    let mut by_start: Vec<&SpanOfService> = trace.spans.iter().collect();
    by_start.sort_by_key(|one| one.span.start_time_unix_nano);
    let is_known = |id: &[u8]| trace.spans.iter().any(|one| one.span.span_id == id);
    let root = by_start.iter().find(|one| !is_known(&one.span.parent_span_id)).or(by_start.first());
    let mut services: Vec<String> = Vec::new();
    for one in &by_start {
        if !services.iter().any(|known| **known == *one.service) {
            services.push(one.service.to_string());
        }
    }
    Summary {
        trace_id: hex(id),
        root_service: root.map(|root| root.service.to_string()).unwrap_or_default(),
        root_name: root.map(|root| root.span.name.clone()).unwrap_or_default(),
        services,
        spans: trace.spans.len(),
        errors: trace.spans.iter().filter(|one| is_error(one)).count(),
        start_ms: start as f64 / 1e6,
        duration_us: microseconds(start, end),
    }
}

fn span_view(one: &SpanOfService, start: u64) -> SpanView {
    let span = &one.span;
    SpanView {
        span_id: hex(&span.span_id),
        parent_span_id: hex(&span.parent_span_id),
        service: one.service.to_string(),
        name: span.name.clone(),
        kind: match span.kind() {
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Producer => "producer",
            SpanKind::Consumer => "consumer",
            SpanKind::Internal | SpanKind::Unspecified => "internal",
        },
        start_us: microseconds(start, span.start_time_unix_nano),
        duration_us: microseconds(span.start_time_unix_nano, span.end_time_unix_nano),
        is_error: is_error(one),
        status: span.status.as_ref().map(|status| status.message.clone()).unwrap_or_default(),
        attributes: attributes(&span.attributes),
        events: span.events.iter().map(|event| event_view(event, start)).collect(),
        links: span.links.iter().map(link_view).collect(),
    }
}

fn event_view(event: &Event, start: u64) -> Value {
    json!({
        "name": event.name,
        "us": microseconds(start, event.time_unix_nano),
        "attributes": attributes(&event.attributes),
    })
}

fn link_view(link: &Link) -> Value {
    json!({
        "traceId": hex(&link.trace_id),
        "spanId": hex(&link.span_id),
        "attributes": attributes(&link.attributes),
    })
}

fn is_error(one: &SpanOfService) -> bool {
    one.span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error)
}

fn start_of(trace: &Trace) -> u64 {
    trace.spans.iter().map(|one| one.span.start_time_unix_nano).min().unwrap_or_default()
}

/// From one time to another, both in nanoseconds since 1970; 0 where the clocks disagree about the order.
fn microseconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e3
}

fn attributes(list: &[KeyValue]) -> Map<String, Value> {
    list.iter().map(|attribute| (attribute.key.clone(), value(attribute.value.as_ref()))).collect()
}

/// Nesting is bounded by the protobuf decoder.
fn value(wrapped: Option<&Wrapped>) -> Value {
    match wrapped.and_then(|wrapped| wrapped.value.as_ref()) {
        None => Value::Null,
        Some(AnyValue::StringValue(text)) => text.as_str().into(),
        Some(AnyValue::BoolValue(truth)) => (*truth).into(),
        Some(AnyValue::IntValue(number)) if number.unsigned_abs() > EXACT_MAX => number.to_string().into(),
        Some(AnyValue::IntValue(number)) => (*number).into(),
        Some(AnyValue::DoubleValue(number)) if !number.is_finite() => number.to_string().into(),
        Some(AnyValue::DoubleValue(number)) => (*number).into(),
        Some(AnyValue::ArrayValue(array)) => array.values.iter().map(|one| value(Some(one))).collect(),
        Some(AnyValue::KvlistValue(list)) => Value::Object(attributes(&list.values)),
        Some(AnyValue::BytesValue(bytes)) => hex(bytes).into(),
        Some(_) => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
