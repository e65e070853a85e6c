//! The `outbox relay` span: from a row's commit to the broker's acknowledgement, child of the span the row was
//! written in, parent of whatever the consumer does.
//!
//! OpenTelemetry's API directly, not `tracing`: it is on the way of every row that carries a context. Without an
//! installed SDK the tracer does nothing, and the row's own context goes on unchanged.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{InstrumentationScope, KeyValue};
use pillion_trace_context::conventions::{self, operation_type};
use pillion_trace_context::telemetry;

use super::row::RowPosition;
use crate::causes;
use crate::publish::{Delivered, PublishError};
use crate::router::OutboxEvent;

#[cfg(test)]
mod tests;

/// Starts spans for one connector.
pub(super) struct Relay {
    tracer: BoxedTracer,
    client_id: Arc<str>,
    /// `None` where no metrics are exported.
    measures: Option<Measures>,
}

/// The semantic conventions' metrics of whoever sends messages.
#[derive(Clone)]
struct Measures {
    sent: Counter<u64>,
    duration: Histogram<f64>,
}

/// What is told once a row is acknowledged: a span, which ends when this is dropped, and how long it took.
pub(super) struct RelaySpan {
    span: Option<BoxedSpan>,
    measured: Option<Measured>,
    transaction_rows: Arc<AtomicU64>,
}

/// A row on its way.
struct Measured {
    measures: Measures,
    topic: Arc<str>,
    since: Instant,
}

impl Relay {
    pub(super) fn new(client_id: &str) -> Relay {
        let scope = InstrumentationScope::builder("pillion-cdc")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(conventions::SCHEMA_URL)
            .build();
        let relay = Relay::with_tracer(global::tracer_with_scope(scope), client_id);
        Relay { measures: telemetry::meter().map(Measures::new), ..relay }
    }

    fn with_tracer(tracer: BoxedTracer, client_id: &str) -> Relay {
        Relay { tracer, client_id: client_id.into(), measures: None }
    }

    /// Starts the span of a row that carries a context, and puts the span's context in its place. `None` where
    /// nothing is recorded or measured.
    pub(super) fn start(
        &self,
        event: &mut OutboxEvent,
        position: &RowPosition,
        commit_time_micros: i64,
        transaction_rows: &Arc<AtomicU64>,
    ) -> Option<RelaySpan> {
        let span = self.start_span(event, position, commit_time_micros);
        let measured = self.measures.as_ref().map(|measures| Measured {
            measures: measures.clone(),
            topic: Arc::clone(&event.topic),
            since: Instant::now(),
        });
        let is_told = span.is_some() || measured.is_some();
        is_told.then(|| RelaySpan { span, measured, transaction_rows: Arc::clone(transaction_rows) })
    }

    fn start_span(
        &self,
        event: &mut OutboxEvent,
        position: &RowPosition,
        commit_time_micros: i64,
    ) -> Option<BoxedSpan> {
        let parent = event.trace.as_ref()?;
        let commit_time = UNIX_EPOCH + Duration::from_micros(u64::try_from(commit_time_micros).unwrap_or(0));
        let builder = self
            .tracer
            .span_builder(Cow::Borrowed(conventions::OUTBOX_RELAY))
            .with_kind(SpanKind::Producer)
            .with_start_time(commit_time);
        let mut span = self.tracer.build_with_context(builder, &parent.to_opentelemetry());
        event.trace = Some(parent.continued_by(span.span_context()));
        if !span.is_recording() {
            return None;
        }
        let waited = SystemTime::now().duration_since(commit_time).unwrap_or_default();
        span.set_attributes([
            KeyValue::new(conventions::MESSAGING_SYSTEM, conventions::KAFKA),
            KeyValue::new(conventions::MESSAGING_OPERATION_NAME, "relay"),
            KeyValue::new(conventions::MESSAGING_OPERATION_TYPE, operation_type::SEND),
            KeyValue::new(conventions::MESSAGING_DESTINATION_NAME, Arc::clone(&event.topic)),
            KeyValue::new(conventions::MESSAGING_CLIENT_ID, Arc::clone(&self.client_id)),
            KeyValue::new(conventions::PILLION_COMMIT_LSN, position.commit_lsn.to_string()),
            KeyValue::new(conventions::PILLION_WAL_WAIT_MS, waited.as_secs_f64() * 1000.0),
        ]);
        if let Some(id) = text(position.id.as_deref()) {
            span.set_attribute(KeyValue::new(conventions::MESSAGING_MESSAGE_ID, id));
        }
        if let Some(key) = text(event.key.as_deref()) {
            span.set_attribute(KeyValue::new(conventions::MESSAGING_KAFKA_MESSAGE_KEY, key));
        }
        match &event.value {
            Some(value) => {
                let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
                span.set_attribute(KeyValue::new(conventions::MESSAGING_MESSAGE_BODY_SIZE, size));
            }
            None => span.set_attribute(KeyValue::new(conventions::MESSAGING_KAFKA_MESSAGE_TOMBSTONE, true)),
        }
        Some(span)
    }
}

impl Measures {
    fn new(meter: &Meter) -> Measures {
        Measures {
            sent: meter
                .u64_counter(conventions::MESSAGING_CLIENT_SENT_MESSAGES)
                .with_unit("{message}")
                .with_description("Records given to the broker.")
                .build(),
            duration: meter
                .f64_histogram(conventions::MESSAGING_CLIENT_OPERATION_DURATION)
                .with_unit("s")
                .with_description("From a record's being handed to the producer until the broker's answer.")
                .with_boundaries(conventions::DURATION_BOUNDARIES.to_vec())
                .build(),
        }
    }
}

impl Measured {
    /// Counts a record, with what went wrong.
    fn tell(self, error: Option<&'static str>) {
        let mut attributes = vec![
            KeyValue::new(conventions::MESSAGING_SYSTEM, conventions::KAFKA),
            KeyValue::new(conventions::MESSAGING_OPERATION_NAME, "relay"),
            KeyValue::new(conventions::MESSAGING_OPERATION_TYPE, operation_type::SEND),
            KeyValue::new(conventions::MESSAGING_DESTINATION_NAME, self.topic),
        ];
        attributes.extend(error.map(|error| KeyValue::new(conventions::ERROR_TYPE, error)));
        self.measures.sent.add(1, &attributes);
        self.measures.duration.record(self.since.elapsed().as_secs_f64(), &attributes);
    }
}

impl RelaySpan {
    /// Ends the span of a stored record.
    pub(super) fn delivered(self, delivered: &Delivered) {
        if let Some(measured) = self.measured {
            measured.tell(None);
        }
        let Some(mut span) = self.span else { return };
        // How many rows its transaction had so far: the batch as the service wrote it.
        let rows = i64::try_from(self.transaction_rows.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        span.set_attributes([
            KeyValue::new(conventions::MESSAGING_DESTINATION_PARTITION_ID, delivered.partition.to_string()),
            KeyValue::new(conventions::MESSAGING_KAFKA_OFFSET, delivered.offset),
            KeyValue::new(conventions::MESSAGING_BATCH_MESSAGE_COUNT, rows),
        ]);
        span.end();
    }

    /// Ends the span of a record that was not stored.
    pub(super) fn failed(self, error: &PublishError) {
        let kind = match error {
            PublishError::Unavailable(_) => "unavailable",
            PublishError::RecordRefused(_) => "record_refused",
            PublishError::TransactionRefused(_) => "transaction_refused",
            PublishError::Refused(_) => "refused",
        };
        if let Some(measured) = self.measured {
            measured.tell(Some(kind));
        }
        let Some(mut span) = self.span else { return };
        span.set_attribute(KeyValue::new(conventions::ERROR_TYPE, kind));
        span.set_status(Status::error(causes::text(error)));
        span.end();
    }
}

fn text(bytes: Option<&[u8]>) -> Option<String> {
    bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned)
}
