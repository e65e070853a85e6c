use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use opentelemetry::global::BoxedTracer;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::noop::NoopTracer;
use opentelemetry::trace::{SpanId, SpanKind, Status, TracerProvider};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use pillion_trace_context::TracingSpanContext;

use super::{Measures, Relay};
use crate::connector::row::RowPosition;
use crate::lsn::Lsn;
use crate::publish::{Delivered, PublishError};
use crate::router::{Header, OutboxEvent};

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const COMMIT_TIME_MICROS: i64 = 1_796_010_343_409_670;

fn event(context: Option<&str>) -> OutboxEvent {
    OutboxEvent {
        topic: "outbox.event.order".into(),
        partition: None,
        key: Some(Bytes::from_static(b"42")),
        value: Some(Bytes::from_static(b"{}")),
        headers: Vec::new(),
        trace: context.and_then(TracingSpanContext::parse),
        timestamp_ms: 0,
    }
}

fn position() -> RowPosition {
    let id = Some(Bytes::from_static(b"e-1"));
    RowPosition { table: "public.outbox".into(), commit_lsn: Lsn::new(0x153_0D60), ordinal: 1, id }
}

fn traceparent(event: &OutboxEvent) -> String {
    let headers = event.record_headers();
    let value = headers.iter().find(|header| &*header.key == "traceparent").and_then(|header| header.value.clone());
    String::from_utf8(value.expect("a traceparent").to_vec()).unwrap()
}

/// Relays one event with a recording SDK; the span's fate is up to `end`.
fn recorded(event: &mut OutboxEvent, end: impl FnOnce(super::RelaySpan)) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let relay = Relay::with_tracer(BoxedTracer::new(Box::new(provider.tracer("test"))), "relay-1");
    let rows = Arc::new(AtomicU64::new(3));
    if let Some(span) = relay.start(event, &position(), COMMIT_TIME_MICROS, &rows) {
        end(span);
    }
    exporter.get_finished_spans().unwrap()
}

fn attribute(span: &SpanData, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.as_str().into_owned()).unwrap_or_default()
}

#[test]
fn the_span_lasts_from_commit_to_acknowledgement_and_is_the_rows_child() {
    let mut event = event(Some(&format!("00-{TRACE_ID}-00f067aa0ba902b7-01")));
    let spans = recorded(&mut event, |span| span.delivered(&Delivered { partition: 2, offset: 9 }));
    let span = &spans[0];
    assert_eq!(span.name, "outbox relay");
    assert_eq!(span.span_kind, SpanKind::Producer);
    assert_eq!(span.span_context.trace_id().to_string(), TRACE_ID);
    assert_eq!(span.parent_span_id, SpanId::from_hex("00f067aa0ba902b7").unwrap());
    let since_epoch = span.start_time.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(since_epoch.as_micros(), COMMIT_TIME_MICROS as u128);
    for (name, value) in [
        ("messaging.system", "kafka"),
        ("messaging.destination.name", "outbox.event.order"),
        ("messaging.destination.partition.id", "2"),
        ("messaging.kafka.offset", "9"),
        ("messaging.message.id", "e-1"),
        ("messaging.kafka.message.key", "42"),
        ("messaging.client.id", "relay-1"),
        ("messaging.batch.message_count", "3"),
        ("pillion.outbox.commit_lsn", "0/1530D60"),
    ] {
        assert_eq!(attribute(span, name), value, "{name}");
    }
    assert!(!attribute(span, "pillion.outbox.wal_wait_ms").is_empty());
}

#[test]
fn the_record_carries_the_span_and_keeps_tracestate_and_baggage() {
    let properties = format!("traceparent=00-{TRACE_ID}-00f067aa0ba902b7-01\ntracestate=vendor=1\nbaggage=k=v");
    let mut event = event(Some(&properties));
    let spans = recorded(&mut event, drop);
    assert_eq!(traceparent(&event), format!("00-{TRACE_ID}-{}-01", spans[0].span_context.span_id()));
    let header = |key: &str, value: &'static str| Header { key: key.into(), value: Some(value.into()) };
    assert_eq!(event.record_headers()[1..], [header("tracestate", "vendor=1"), header("baggage", "k=v")]);
}

#[test]
fn a_record_that_is_not_stored_ends_the_span_in_error() {
    let mut event = event(Some(&format!("00-{TRACE_ID}-00f067aa0ba902b7-01")));
    let spans = recorded(&mut event, |span| span.failed(&PublishError::Unavailable("connection reset".into())));
    assert_eq!(spans[0].status, Status::error("the broker is unavailable: connection reset"));
    assert_eq!(attribute(&spans[0], "error.type"), "unavailable");
}

#[test]
fn a_trace_that_is_not_sampled_records_nothing_and_goes_on() {
    let mut event = event(Some(&format!("00-{TRACE_ID}-00f067aa0ba902b7-00")));
    assert!(recorded(&mut event, drop).is_empty());
    let traceparent = traceparent(&event);
    assert!(traceparent.starts_with(&format!("00-{TRACE_ID}-")) && traceparent.ends_with("-00"), "{traceparent}");
}

#[test]
fn without_a_context_there_is_no_span_and_no_header() {
    let mut event = event(None);
    assert!(recorded(&mut event, drop).is_empty());
    assert!(event.record_headers().is_empty());
}

#[test]
fn without_telemetry_the_rows_own_context_goes_on_unchanged() {
    let context = format!("00-{TRACE_ID}-00f067aa0ba902b7-03");
    let mut event = event(Some(&format!("traceparent={context}\ntracestate=a=1,b=2\nbaggage=k=v")));
    let before = event.clone();
    let relay = Relay::with_tracer(BoxedTracer::new(Box::new(NoopTracer::new())), "relay-1");
    assert!(relay.start(&mut event, &position(), COMMIT_TIME_MICROS, &Arc::default()).is_none());
    assert_eq!(event, before);
    assert_eq!(traceparent(&event), context);
}

/// Sums of a counter by its attributes.
fn sums(exporter: &InMemoryMetricExporter, name: &str) -> Vec<String> {
    let finished = exporter.get_finished_metrics().unwrap();
    let metrics = finished.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(|scope| scope.metrics());
    let mut found = Vec::new();
    for metric in metrics.filter(|metric| metric.name() == name) {
        if let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() {
            found.extend(sum.data_points().map(|point| {
                let attribute = |name: &str| point.attributes().find(|one| one.key.as_str() == name);
                let text = |name: &str| attribute(name).map(|one| one.value.to_string()).unwrap_or_default();
                format!("{} {}: {}", text("messaging.destination.name"), text("error.type"), point.value())
            }));
        }
    }
    found.sort();
    found
}

#[test]
fn rows_are_counted_whether_they_carry_a_context_or_not_once_metrics_are_asked_for() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    let relay = Relay::with_tracer(BoxedTracer::new(Box::new(NoopTracer::new())), "relay-1");
    let relay = Relay { measures: Some(Measures::new(&provider.meter("test"))), ..relay };
    let rows = Arc::new(AtomicU64::new(1));
    let start = || relay.start(&mut event(None), &position(), COMMIT_TIME_MICROS, &rows).expect("it is measured");
    start().delivered(&Delivered { partition: 0, offset: 1 });
    start().delivered(&Delivered { partition: 1, offset: 1 });
    start().failed(&PublishError::Refused("no".into()));
    provider.force_flush().unwrap();
    let expected = ["outbox.event.order : 2", "outbox.event.order refused: 1"];
    assert_eq!(sums(&exporter, "messaging.client.sent.messages"), expected);
}
