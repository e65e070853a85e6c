//! The spans of consumers, by OpenTelemetry's semantic conventions for messaging (1.44).

use opentelemetry::trace::TraceContextExt as _;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::Event;

/// Links of one span; more are left out. The SDK's own limit.
pub const LINKS_MAX: usize = 128;

/// The span of one event worked on alone: a child of the span that created the event, and linked to it.
pub(super) fn process_span(group: &str, event: &Event) -> Span {
    let topic = event.kind.topic();
    let span = info_span!(
        "process",
        otel.name = format!("process {topic}"),
        otel.kind = "consumer",
        messaging.system = "kafka",
        messaging.operation.name = "process",
        messaging.operation.type = "process",
        messaging.destination.name = topic,
        messaging.destination.partition.id = event.partition.to_string(),
        messaging.kafka.offset = event.offset,
        messaging.kafka.message.key = event.key,
        messaging.consumer.group.name = group,
        messaging.client.id = group,
        messaging.message.id = %event.id,
        event.type = event.kind.name,
    );
    span.add_link(event.context.span().span_context().clone());
    // Refused only for a span that is filtered out, which then needs no parent either.
    let _ = span.set_parent(event.context.clone());
    span
}

/// The span of work that serves several events at once: linked to each, a child of none, for it belongs to none of
/// their traces more than to the others.
pub fn batch_span<'a>(group: &str, destination: &str, events: impl ExactSizeIterator<Item = &'a Event>) -> Span {
    let span = info_span!(
        parent: None,
        "process",
        otel.name = format!("process {destination}"),
        otel.kind = "consumer",
        messaging.system = "kafka",
        messaging.operation.name = "process",
        messaging.operation.type = "process",
        messaging.destination.name = destination,
        messaging.consumer.group.name = group,
        messaging.client.id = group,
        messaging.batch.message_count = events.len(),
    );
    for event in events.take(LINKS_MAX) {
        span.add_link(event.context.span().span_context().clone());
    }
    span
}
