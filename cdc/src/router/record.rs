//! Fields → record: what goes where, and what cannot.

use bytes::Bytes;
use pillion_trace_context::TracingSpanContext;

use super::error::RouteError;
use super::event::{Header, OutboxEvent};
use super::fields::{Fields, PlacedValue};
use super::options::RouterOptions;
use super::placement::Target;
use super::value::{Value, ValueKind};
use super::{Router, expand, json, timestamp};

impl Router {
    pub(super) fn record(&self, fields: Fields<'_>, commit_time_ms: i64) -> Result<OutboxEvent, RouteError> {
        let route_by = fields.route_by.ok_or(RouteError::NoRoute)?;
        let topic = self.topic.topic(route_by.utf8("routing column")?)?;
        let id = fields.id.ok_or(RouteError::NoId)?;
        let mut headers = Vec::with_capacity(1 + fields.additional.len());
        headers.push(Header { key: self.id_header.clone(), value: Some(id.header()?) });
        let mut partition = None;
        for placed in &fields.additional {
            match placed.target {
                Target::Header => {
                    let value = placed.value.map(Value::header).transpose()?;
                    headers.push(Header { key: placed.name.clone(), value });
                }
                Target::Partition => partition = placed.value.map(partition_number).transpose()?,
                Target::Envelope => {}
            }
        }
        Ok(OutboxEvent {
            topic,
            partition,
            key: fields.key.map(Value::bytes).transpose()?,
            value: self.value(fields.payload, &fields.additional)?,
            headers,
            trace: fields.span_context.and_then(trace),
            timestamp_ms: fields.timestamp.map_or(Ok(commit_time_ms), timestamp_ms)?,
        })
    }

    /// With a column placed in the envelope, also one that this table lacks, the value is one.
    fn value(&self, payload: Option<Value<'_>>, additional: &[PlacedValue<'_>]) -> Result<Option<Bytes>, RouteError> {
        let options = &self.options;
        if options.tombstone_on_empty_payload && payload.is_none_or(is_empty) {
            return Ok(None);
        }
        let is_envelope = self.placements.iter().any(|placement| placement.target == Target::Envelope);
        if !is_envelope && !options.expand_json_payload {
            return payload.map(Value::bytes).transpose();
        }
        let mut json = String::new();
        if !is_envelope {
            push_payload(options, payload, &mut json)?;
            return Ok(Some(json.into()));
        }
        // As Debezium's struct looks through JsonConverter.
        json.push_str(r#"{"payload":"#);
        push_payload(options, payload, &mut json)?;
        for placed in additional.iter().filter(|placed| placed.target == Target::Envelope) {
            json.push(',');
            json::push_string(&mut json, placed.name);
            json.push(':');
            push_json(placed.value, &mut json)?;
        }
        json.push('}');
        Ok(Some(json.into()))
    }
}

/// The trace a column holds. One that is not text is no context, as one that cannot be read.
pub(super) fn trace(context: Value<'_>) -> Option<pillion_trace_context::TraceContext> {
    TracingSpanContext::parse(context.utf8("trace context").ok()?)
}

/// The payload within JSON: a string that holds its text, unless it is to be expanded and can be.
fn push_payload(options: &RouterOptions, payload: Option<Value<'_>>, json: &mut String) -> Result<(), RouteError> {
    if options.expand_json_payload
        && let Some(payload @ Value { kind: ValueKind::Text, .. }) = payload
        && let Some(expanded) = expand::expand(payload.utf8("payload")?, options.json_null)?
    {
        json.push_str(&expanded);
        return Ok(());
    }
    push_json(payload, json)
}

fn push_json(value: Option<Value<'_>>, json: &mut String) -> Result<(), RouteError> {
    match value {
        Some(value) => value.push_json(json),
        None => {
            json.push_str("null");
            Ok(())
        }
    }
}

/// Whether Debezium takes a payload for empty: text that is blank in the sense of Java's `String.trim`. Neither an
/// empty bytea (`\x`) nor JSON's `{}`, `[]` or `null` is.
fn is_empty(payload: Value<'_>) -> bool {
    payload.kind == ValueKind::Text && payload.text.iter().all(|byte| *byte <= b' ')
}

fn partition_number(value: Value<'_>) -> Result<i32, RouteError> {
    let text = std::str::from_utf8(value.text).ok();
    text.and_then(|text| text.parse().ok())
        .filter(|number| *number >= 0)
        .ok_or_else(|| RouteError::Partition { value: shown(value.text) })
}

/// Milliseconds since the Unix epoch of a timestamp column, or of an integer column that holds them.
fn timestamp_ms(value: Value<'_>) -> Result<i64, RouteError> {
    let text = std::str::from_utf8(value.text).ok();
    let ms = match value.kind {
        ValueKind::Number => text.and_then(|text| text.parse().ok()),
        _ => text.and_then(timestamp::unix_micros).map(|micros| micros.div_euclid(1000)),
    };
    ms.ok_or_else(|| RouteError::Timestamp { value: shown(value.text) })
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(100).collect()
}
