//! The last traces. Invariant: bounded by traces, by spans of a trace, and by bytes; the trace that came first goes first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Traces kept.
const TRACES_MAX: usize = 500;
/// Spans kept of one trace; more are counted.
const SPANS_OF_TRACE_MAX: usize = 1_000;
/// Bytes of all spans, as they were sent and with what a span takes at least.
const BYTES_MAX: usize = 32 << 20;
/// What a span takes in memory beside its texts, roughly.
const SPAN_BYTES: usize = 400;

/// A trace's id as it is sent.
pub(super) type TraceId = [u8; 16];

/// A span and whose it is.
#[derive(Debug, Clone)]
pub(super) struct SpanOfService {
    /// `service.name` of the sender.
    pub(super) service: Arc<str>,
    pub(super) span: Span,
}

/// One trace, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// In the order they came; never empty.
    pub(super) spans: Vec<SpanOfService>,
    /// Spans that came when there were enough.
    pub(super) left_out: usize,
    bytes: usize,
}

/// The traces.
#[derive(Debug, Default)]
pub(super) struct Store {
    traces: HashMap<TraceId, Trace>,
    /// Keys of `traces`, the one that came first in front.
    order: VecDeque<TraceId>,
    bytes: usize,
}

impl Store {
    /// Adds a span; one that is there already is replaced, as a repeated request brings it again.
    pub(super) fn add(&mut self, trace_id: TraceId, span: SpanOfService) {
        let size = SPAN_BYTES + span.span.encoded_len();
        if size > BYTES_MAX {
            return;
        }
        if !self.traces.contains_key(&trace_id) {
            self.order.push_back(trace_id);
        }
        let trace = self.traces.entry(trace_id).or_default();
        let is_full = trace.spans.len() >= SPANS_OF_TRACE_MAX;
        match trace.spans.iter_mut().find(|known| known.span.span_id == span.span.span_id) {
            Some(known) => {
                let before = SPAN_BYTES + known.span.encoded_len();
                *known = span;
                trace.bytes = trace.bytes + size - before;
                self.bytes = self.bytes + size - before;
            }
            None if is_full => trace.left_out += 1,
            None => {
                trace.spans.push(span);
                trace.bytes += size;
                self.bytes += size;
            }
        }
        while self.order.len() > TRACES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.traces.remove(&oldest).map_or(0, |trace| trace.bytes);
        }
    }

    /// A trace by its id.
    pub(super) fn get(&self, trace_id: &TraceId) -> Option<&Trace> {
        self.traces.get(trace_id)
    }

    /// All traces, in no order.
    pub(super) fn traces(&self) -> impl Iterator<Item = (&TraceId, &Trace)> {
        self.traces.iter()
    }
}

#[cfg(test)]
mod tests;
