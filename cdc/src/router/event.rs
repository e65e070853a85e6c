//! The record made of one outbox row.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use pillion_trace_context::{BAGGAGE, Propagators, TRACEPARENT, TRACESTATE, TraceContext};

/// Names of the trace's headers, made once: a record holds its names by reference.
static TRACE_NAMES: LazyLock<[Arc<str>; 3]> = LazyLock::new(|| [TRACEPARENT, TRACESTATE, BAGGAGE].map(Arc::from));

/// A record header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Its name, shared by all records that have it.
    pub key: Arc<str>,
    /// Its value; `None` is Kafka's null.
    pub value: Option<Bytes>,
}

/// A record to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxEvent {
    /// The topic, a name Kafka accepts, shared by all records routed to it.
    pub topic: Arc<str>,
    /// The partition, 0 or higher, if a column decides it; otherwise the key does.
    pub partition: Option<i32>,
    /// The key: the aggregate's id as text.
    pub key: Option<Bytes>,
    /// The value: the payload as Postgres prints it; `None` is a tombstone.
    pub value: Option<Bytes>,
    /// `id`, then the additional fields in their order. [`record_headers`](Self::record_headers) adds the trace.
    pub headers: Vec<Header>,
    /// The trace the row was written in.
    pub trace: Option<TraceContext>,
    /// Milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
}

impl OutboxEvent {
    /// The event's id, as the header `id` carries it.
    pub fn id(&self) -> Option<&Bytes> {
        self.headers.iter().find(|header| &*header.key == "id").and_then(|header| header.value.as_ref())
    }

    /// All headers in the order in which they are sent: `traceparent`, `tracestate` and `baggage` as far as there are
    /// any (others where `OTEL_PROPAGATORS` asks for them), then [`headers`](Self::headers).
    pub fn record_headers(&self) -> Vec<Header> {
        let mut headers = Vec::with_capacity(self.headers.len() + 3);
        self.push_trace(&mut headers);
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// [`record_headers`](Self::record_headers) of an event whose headers are not needed any more.
    pub fn take_record_headers(&mut self) -> Vec<Header> {
        if self.trace.is_none() {
            return std::mem::take(&mut self.headers);
        }
        let mut headers = Vec::with_capacity(self.headers.len() + 3);
        self.push_trace(&mut headers);
        headers.append(&mut self.headers);
        headers
    }

    /// Bytes this event keeps in memory, to within a constant per part.
    pub fn size(&self) -> usize {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers: usize = self.headers.iter().map(|header| 64 + header.key.len() + length(&header.value)).sum();
        256 + self.topic.len() + length(&self.key) + length(&self.value) + headers
    }

    fn push_trace(&self, headers: &mut Vec<Header>) {
        let Some(trace) = &self.trace else { return };
        Propagators::in_force().inject(trace, |name, value| {
            let known = TRACE_NAMES.iter().find(|known| &***known == name);
            let key = known.map_or_else(|| name.into(), Arc::clone);
            headers.push(Header { key, value: Some(Bytes::copy_from_slice(value)) });
        });
    }
}
