//! Zipkin's B3: what services instrumented before W3C Trace Context send. Read when there is no valid `traceparent`.
//!
//! ```text
//! b3: <trace id: 16 or 32 hex>-<span id: 16 hex>[-<0 | 1 | d>[-<parent span id: 16 hex>]]
//! b3: 0                                            deny: no ids, only the wish not to be sampled
//! X-B3-TraceId, X-B3-SpanId, X-B3-Sampled (0 | 1 | true | false), X-B3-Flags (1 = debug)
//! ```
//!
//! The single header comes before the many (openzipkin/b3-propagation). A missing decision is read as not sampled, as
//! OpenTelemetry's own B3 propagators do.

use crate::extraction::Extraction;
use crate::traceparent::{SpanId, TraceId, TraceParent};

/// The values found, empty where there was none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct B3Fields<'a> {
    pub(crate) single: &'a [u8],
    pub(crate) trace_id: &'a [u8],
    pub(crate) span_id: &'a [u8],
    pub(crate) sampled: &'a [u8],
    pub(crate) flags: &'a [u8],
}

pub(crate) const B3_SINGLE: &str = "b3";
pub(crate) const B3_TRACE_ID: &str = "X-B3-TraceId";
pub(crate) const B3_SPAN_ID: &str = "X-B3-SpanId";
pub(crate) const B3_SAMPLED: &str = "X-B3-Sampled";
pub(crate) const B3_FLAGS: &str = "X-B3-Flags";

/// Reads the single header, else the many.
pub(crate) fn extract(fields: &B3Fields<'_>) -> Extraction {
    match extract_single(fields.single) {
        Extraction::Absent => extract_multiple(fields),
        found => found,
    }
}

/// Writes the single header: `{trace id}-{span id}-{0|1}`.
pub(crate) fn format_single(parent: &TraceParent) -> String {
    format!("{}-{}-{}", parent.trace_id, parent.parent_id, u8::from(parent.is_sampled()))
}

/// Calls `set` with the many headers: ids and decision.
pub(crate) fn inject_multiple(parent: &TraceParent, mut set: impl FnMut(&'static str, &[u8])) {
    set(B3_TRACE_ID, parent.trace_id.to_string().as_bytes());
    set(B3_SPAN_ID, parent.parent_id.to_string().as_bytes());
    set(B3_SAMPLED, if parent.is_sampled() { b"1" } else { b"0" });
}

fn extract_single(value: &[u8]) -> Extraction {
    if value == b"0" {
        return Extraction::Denied;
    }
    let mut parts = value.split(|byte| *byte == b'-');
    let (Some(trace_id), Some(span_id)) = (parts.next(), parts.next()) else {
        return Extraction::Absent;
    };
    let flags = match parts.next() {
        None | Some(b"0") => 0,
        Some(b"1" | b"d") => 1,
        Some(_) => return Extraction::Absent,
    };
    let grandparent_is_valid = parts.next().is_none_or(|id| SpanId::from_hex(id).is_ok());
    if !grandparent_is_valid || parts.next().is_some() {
        return Extraction::Absent;
    }
    found(trace_id, span_id, flags)
}

fn extract_multiple(fields: &B3Fields<'_>) -> Extraction {
    let is_debug = fields.flags == b"1";
    let is_sampled = is_debug || matches!(fields.sampled, b"1" | b"true");
    if fields.trace_id.is_empty() && fields.span_id.is_empty() {
        let is_denied = !is_debug && matches!(fields.sampled, b"0" | b"false");
        return if is_denied { Extraction::Denied } else { Extraction::Absent };
    }
    found(fields.trace_id, fields.span_id, u8::from(is_sampled))
}

fn found(trace_id: &[u8], span_id: &[u8], flags: u8) -> Extraction {
    match (parse_trace_id(trace_id), SpanId::from_hex(span_id)) {
        (Some(trace_id), Ok(parent_id)) => Extraction::Found(TraceParent { trace_id, parent_id, flags }.into()),
        _ => Extraction::Absent,
    }
}

/// A 64-bit id is the right half of a 128-bit one.
fn parse_trace_id(text: &[u8]) -> Option<TraceId> {
    if text.len() == 16 {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&SpanId::from_hex(text).ok()?.to_bytes());
        return TraceId::from_bytes(bytes);
    }
    TraceId::from_hex(text).ok()
}

#[cfg(test)]
mod tests;
