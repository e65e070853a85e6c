//! The `outbox relay` span: from a row's commit to the broker's acknowledgement, child of the span the row was
//! written in, parent of whatever the consumer does.
//!
//! OpenTelemetry's API directly, not `tracing`: it is on the way of every row that carries a context. Without an
//! installed SDK the tracer does nothing, and the row's own context goes on unchanged.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{InstrumentationScope, KeyValue};
use pillion_trace_context::conventions::{self, operation_type};

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
}

/// A started span. Dropping it ends it.
pub(super) struct RelaySpan {
    span: BoxedSpan,
    transaction_rows: Arc<AtomicU64>,
}

impl Relay {
    pub(super) fn new(client_id: &str) -> Relay {
        let scope = InstrumentationScope::builder("pillion-cdc")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(conventions::SCHEMA_URL)
            .build();
        Relay::with_tracer(global::tracer_with_scope(scope), client_id)
    }

    fn with_tracer(tracer: BoxedTracer, client_id: &str) -> Relay {
        Relay { tracer, client_id: client_id.into() }
    }

    /// Starts the span of a row that carries a context, and puts the span's context in its place. `None` where
    /// nothing is recorded.
    pub(super) fn start(
        &self,
        event: &mut OutboxEvent,
        position: &RowPosition,
        commit_time_micros: i64,
        transaction_rows: &Arc<AtomicU64>,
    ) -> Option<RelaySpan> {
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
        Some(RelaySpan { span, transaction_rows: Arc::clone(transaction_rows) })
    }
}

impl RelaySpan {
    /// Ends the span of a stored record.
    pub(super) fn delivered(mut self, delivered: &Delivered) {
        // How many rows its transaction had so far: the batch as the service wrote it.
        let rows = i64::try_from(self.transaction_rows.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
        self.span.set_attributes([
            KeyValue::new(conventions::MESSAGING_DESTINATION_PARTITION_ID, delivered.partition.to_string()),
            KeyValue::new(conventions::MESSAGING_KAFKA_OFFSET, delivered.offset),
            KeyValue::new(conventions::MESSAGING_BATCH_MESSAGE_COUNT, rows),
        ]);
        self.span.end();
    }

    /// Ends the span of a record that was not stored.
    pub(super) fn failed(mut self, error: &PublishError) {
        let kind = match error {
            PublishError::Unavailable(_) => "unavailable",
            PublishError::RecordRefused(_) => "record_refused",
            PublishError::TransactionRefused(_) => "transaction_refused",
            PublishError::Refused(_) => "refused",
        };
        self.span.set_attribute(KeyValue::new(conventions::ERROR_TYPE, kind));
        self.span.set_status(Status::error(causes::text(error)));
        self.span.end();
    }
}

fn text(bytes: Option<&[u8]>) -> Option<String> {
    bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned)
}
