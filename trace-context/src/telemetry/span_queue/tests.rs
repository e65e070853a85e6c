//! Bounds and counts of the span queue.

use std::borrow::Cow;
use std::sync::mpsc::sync_channel;
use std::time::SystemTime;

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status};

use super::*;

fn span(name: &'static str) -> SpanData {
    SpanData {
        span_context: SpanContext::NONE,
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: Cow::Borrowed(name),
        start_time: SystemTime::UNIX_EPOCH,
        end_time: SystemTime::UNIX_EPOCH,
        attributes: Vec::new(),
        dropped_attributes_count: 0,
        events: Default::default(),
        links: Default::default(),
        status: Status::Unset,
        instrumentation_scope: InstrumentationScope::default(),
    }
}

fn names(batch: &[SpanData]) -> Vec<&str> {
    batch.iter().map(|span| span.name.as_ref()).collect()
}

#[test]
fn full_queue_drops_and_counts_the_newest_span() {
    let queue = SpanQueue::new(2, 2);
    for name in ["first", "second", "third"] {
        queue.push(span(name));
    }
    assert_eq!(queue.counts(), SpanCounts { exported: 0, dropped: 1 });
    assert!(queue.take_overflow());
    assert!(!queue.take_overflow());
    assert_eq!(names(&queue.take_batch()), ["first", "second"]);
}

#[test]
fn batch_holds_at_most_its_size_oldest_first() {
    let queue = SpanQueue::new(10, 2);
    for name in ["first", "second", "third"] {
        queue.push(span(name));
    }
    assert_eq!(names(&queue.take_batch()), ["first", "second"]);
    assert_eq!(names(&queue.take_batch()), ["third"]);
    assert!(queue.take_batch().is_empty());
}

#[test]
fn closed_queue_keeps_what_waits_and_takes_nothing_more() {
    let queue = SpanQueue::new(10, 2);
    queue.push(span("before"));
    queue.close(Instant::now());
    queue.push(span("after"));
    assert!(queue.is_closed());
    assert_eq!(queue.counts().dropped, 1);
    assert!(!queue.take_overflow());
    assert_eq!(names(&queue.take_batch()), ["before"]);
    assert!(!queue.request_flush(sync_channel(1).0));
}

#[tokio::test]
async fn full_batch_and_flush_wake_the_export_thread() {
    let queue = SpanQueue::new(10, 2);
    queue.push(span("first"));
    queue.push(span("second"));
    queue.woken().await;
    assert!(queue.request_flush(sync_channel(1).0));
    queue.woken().await;
    assert_eq!(queue.take_flushes().len(), 1);
}

#[tokio::test]
async fn close_is_seen_by_those_who_ask_later() {
    let queue = SpanQueue::new(1, 1);
    let deadline = Instant::now();
    queue.close(deadline);
    assert_eq!(queue.closed().await, deadline);
}
