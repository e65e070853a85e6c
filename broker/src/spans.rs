//! The broker's own spans: what a produced batch waited for, its write and its sync.
//!
//! ```text
//! append orders   from the produce request until the batch is durable
//! └ fsync orders  from the write until then; left out with log.durability=async
//! ```
//! Off unless asked for (`telemetry.broker.spans`): then one atomic load a batch. `sampled` makes them for batches that
//! hold a record of a sampled trace, told by the record's header without decompressing anything; `slow` for whatever
//! took longer than `telemetry.broker.slow.ms`. Where all sampled records are of one trace the span is part of it;
//! otherwise it is a trace of its own, linked to each.
//!
//! Invariant: no span is made before its batch's answer has been given, and none for a batch that was refused.

mod peek;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{Link, Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use pillion_trace_context::{conventions, telemetry};
use pillion_wire::records::BatchHeader;

use crate::config::{BrokerConfig, BrokerSpanMode, Durability};
use crate::log::Appended;
use crate::partition::{AppendError, Partition};

/// Which batches get spans, and what makes them.
pub(crate) struct BrokerSpans {
    /// A [`BrokerSpanMode`]; off where there is no tracer.
    mode: AtomicU8,
    slow_ms: AtomicU64,
    has_sync: bool,
    /// `None` where nothing is exported.
    tracer: Option<Arc<BoxedTracer>>,
}

/// A batch that may get spans, before it is appended.
pub(crate) struct Begun {
    tracer: Arc<BoxedTracer>,
    at: SystemTime,
    since: Instant,
    /// Shorter times make no span.
    slower_than: Duration,
    has_sync: bool,
    /// Of the sampled records, in their order.
    contexts: Vec<SpanContext>,
    records: i32,
    bytes: usize,
}

/// A batch that has been written.
pub(crate) struct Written {
    begun: Begun,
    partition: Arc<Partition>,
    appended: Appended,
    took: Duration,
}

impl BrokerSpans {
    /// As the settings say, by the process's tracer.
    pub(crate) fn new(config: &BrokerConfig) -> Self {
        let tracer = telemetry::decided_tracer().map(|tracer| BoxedTracer::new(Box::new(tracer.clone())));
        Self::with_tracer(config, tracer)
    }

    fn with_tracer(config: &BrokerConfig, tracer: Option<BoxedTracer>) -> Self {
        let spans = Self {
            mode: AtomicU8::new(BrokerSpanMode::Off as u8),
            slow_ms: AtomicU64::new(0),
            has_sync: config.durability == Durability::Sync,
            tracer: tracer.map(Arc::new),
        };
        spans.apply(config);
        spans
    }

    /// Takes over settings that have been changed.
    pub(crate) fn apply(&self, config: &BrokerConfig) {
        let wanted = config.span_mode;
        if self.tracer.is_none() && wanted != BrokerSpanMode::Off {
            tracing::warn!(
                "telemetry.broker.spans has no effect: no spans are exported; set OTEL_EXPORTER_OTLP_ENDPOINT"
            );
            return;
        }
        self.slow_ms.store(config.span_slow.as_millis().try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        self.mode.store(wanted as u8, Ordering::Relaxed);
    }

    /// Looks at a batch that is about to be appended; `None` where it gets no spans.
    pub(crate) fn begin(&self, header: &BatchHeader, batch: &Bytes) -> Option<Begun> {
        let mode = self.mode.load(Ordering::Relaxed);
        if mode == BrokerSpanMode::Off as u8 {
            return None;
        }
        let tracer = Arc::clone(self.tracer.as_ref()?);
        let contexts = peek::sampled(header, batch);
        let is_slow_mode = mode == BrokerSpanMode::Slow as u8;
        if !is_slow_mode && contexts.is_empty() {
            return None;
        }
        let slow = Duration::from_millis(self.slow_ms.load(Ordering::Relaxed));
        let slower_than = if is_slow_mode { slow } else { Duration::ZERO };
        let (at, since, has_sync) = (SystemTime::now(), Instant::now(), self.has_sync);
        let (records, bytes) = (header.record_count, batch.len());
        Some(Begun { tracer, at, since, slower_than, has_sync, contexts, records, bytes })
    }
}

impl Begun {
    /// The batch is in the page cache.
    pub(crate) fn written(self, partition: &Arc<Partition>, appended: Appended) -> Written {
        let took = self.since.elapsed();
        Written { begun: self, partition: Arc::clone(partition), appended, took }
    }

    /// The parent, where there is one trace to be part of.
    fn parent(&self) -> Context {
        match self.contexts.first() {
            Some(first) if self.contexts.iter().all(|context| context.trace_id() == first.trace_id()) => {
                Context::new().with_remote_span_context(first.clone())
            }
            _ => Context::new(),
        }
    }
}

impl Written {
    /// Makes the spans once the batch is durable, or never will be.
    pub(crate) fn finish_when_durable(self) {
        let partition = Arc::clone(&self.partition);
        partition.when_durable(self.appended.next_offset, Box::new(move |result| self.finish(result)));
    }

    fn finish(self, result: Result<(), AppendError>) {
        let Self { begun, partition, appended, took } = self;
        let took_in_all = begun.since.elapsed();
        if took_in_all < begun.slower_than {
            return;
        }
        let (topic, parent) = (partition.topic(), begun.parent());
        let (written_at, ended_at) = (begun.at + took, begun.at + took_in_all);
        let name = |operation| conventions::span_name(operation, topic);
        let links = begun.contexts.into_iter().map(Link::with_context).collect();
        let builder = begun.tracer.span_builder(name(conventions::BROKER_APPEND));
        let builder = builder.with_kind(SpanKind::Internal).with_start_time(begun.at).with_links(links);
        let mut append = begun.tracer.build_with_context(builder, &parent);
        append.set_attributes([
            KeyValue::new(conventions::MESSAGING_SYSTEM, conventions::KAFKA),
            KeyValue::new(conventions::MESSAGING_OPERATION_NAME, conventions::BROKER_APPEND),
            KeyValue::new(conventions::MESSAGING_DESTINATION_NAME, Arc::clone(topic)),
            KeyValue::new(conventions::MESSAGING_DESTINATION_PARTITION_ID, partition.index().to_string()),
            KeyValue::new(conventions::MESSAGING_KAFKA_OFFSET, appended.base_offset),
            KeyValue::new(conventions::MESSAGING_BATCH_MESSAGE_COUNT, i64::from(begun.records)),
            KeyValue::new(conventions::PILLION_BATCH_BYTES, i64::try_from(begun.bytes).unwrap_or(i64::MAX)),
        ]);
        if begun.has_sync {
            let within = Context::new().with_remote_span_context(append.span_context().clone());
            let builder = begun.tracer.span_builder(name(conventions::BROKER_FSYNC)).with_start_time(written_at);
            let mut sync = begun.tracer.build_with_context(builder, &within);
            tell(&mut sync, &result);
            sync.end_with_timestamp(ended_at);
        }
        tell(&mut append, &result);
        append.end_with_timestamp(ended_at);
    }
}

fn tell(span: &mut impl opentelemetry::trace::Span, result: &Result<(), AppendError>) {
    if let Err(error) = result {
        span.set_attribute(KeyValue::new(conventions::ERROR_TYPE, "sync_failed"));
        span.set_status(Status::error(error.to_string()));
    }
}
