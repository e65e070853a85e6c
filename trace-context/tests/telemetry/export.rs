//! Spans on their way to a collector: one that answers, one that is down, one that accepts and never answers.

use std::net::TcpListener;
use std::time::{Duration, SystemTime};

use crate::collector::{Collector, string_of};
use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, SpanKind, Tracer};
use pillion_trace_context::telemetry::{SpanCounts, SpanPipeline, TelemetrySettings};
use pillion_trace_context::{TraceContext, TraceParent, conventions};
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tracing_subscriber::layer::SubscriberExt;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";

fn start(endpoint: &str, variables: &[(&str, &str)]) -> SpanPipeline {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| {
        if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
            return Some(endpoint.to_owned());
        }
        variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).to_owned())
    });
    SpanPipeline::start(&settings.unwrap()).unwrap().expect("an endpoint is set")
}

/// An address where nothing listens.
fn closed_endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

fn end_spans(pipeline: &SpanPipeline, count: usize) {
    for _ in 0..count {
        pipeline.tracer().start("work").end();
    }
}

/// Flushes first: a shutdown's time may be too short for a busy machine.
async fn flush_and_shut_down(pipeline: SpanPipeline) -> SpanCounts {
    let ended = tokio::task::spawn_blocking(move || {
        assert!(pipeline.flush());
        pipeline.shutdown()
    });
    ended.await.unwrap()
}

#[tokio::test]
async fn backdated_relay_span_arrives_with_its_parent_times_and_resource() {
    let mut collector = Collector::start().await;
    let pipeline = start(
        &collector.endpoint(),
        &[
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_BSP_SCHEDULE_DELAY", "1"),
        ],
    );
    let row = TraceContext::from(PARENT.parse::<TraceParent>().unwrap());
    let committed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let acknowledged = committed + Duration::from_millis(7);

    let tracer = pipeline.tracer();
    let builder = tracer
        .span_builder(conventions::OUTBOX_RELAY)
        .with_kind(SpanKind::Producer)
        .with_start_time(committed)
        .with_attributes([KeyValue::new(conventions::MESSAGING_DESTINATION_NAME, "orders")]);
    let mut span = tracer.build_with_context(builder, &row.to_opentelemetry());
    let sent = row.continued_by(span.span_context());
    span.end_with_timestamp(acknowledged);

    let received = collector.received(1).await;
    assert_eq!(received[0].resource_attribute(conventions::SERVICE_NAME), Some("pillion"));
    assert_eq!(received[0].resource_attribute(conventions::SERVICE_VERSION), Some("1.2.3"));
    assert_eq!(received[0].resource_attribute("deployment.environment.name"), Some("test"));
    assert_eq!(received[0].metadata.get("api-key").unwrap(), "a b");
    assert_eq!(received[0].resource_spans[0].scope_spans[0].schema_url, conventions::SCHEMA_URL);
    let span = received[0].spans().next().unwrap();
    assert_eq!(span.name, conventions::OUTBOX_RELAY);
    assert_eq!(span.trace_id, row.traceparent.trace_id.to_bytes());
    assert_eq!(span.parent_span_id, row.traceparent.parent_id.to_bytes());
    assert_eq!(span.start_time_unix_nano, 1_700_000_000_000_000_000);
    assert_eq!(span.end_time_unix_nano, 1_700_000_000_007_000_000);
    assert_eq!(string_of(&span.attributes, conventions::MESSAGING_DESTINATION_NAME), Some("orders"));
    assert_eq!(span.span_id, sent.traceparent.parent_id.to_bytes());
    assert_eq!((sent.traceparent.trace_id, sent.traceparent.flags), (row.traceparent.trace_id, 3));
    assert_eq!(flush_and_shut_down(pipeline).await, SpanCounts { exported: 1, dropped: 0 });
}

#[tokio::test]
async fn shutdown_sends_what_waits_even_when_it_blocks_the_applications_only_thread() {
    // The collector has a thread of its own: this test's runtime stands for the application's.
    let (address_sender, address) = std::sync::mpsc::channel();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let collector_thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut collector = Collector::start().await;
            address_sender.send(collector.endpoint()).unwrap();
            let received = collector.received(3).await;
            ended.await.unwrap();
            received.iter().flat_map(|request| request.spans()).count()
        })
    });
    let pipeline = start(&address.recv().unwrap(), &[("OTEL_BSP_SCHEDULE_DELAY", "3600000")]);
    end_spans(&pipeline, 3);
    assert_eq!(pipeline.shutdown(), SpanCounts { exported: 3, dropped: 0 });
    end.send(()).unwrap();
    assert_eq!(collector_thread.join().unwrap(), 3);
}

#[tokio::test]
async fn shutdown_returns_and_counts_drops_when_the_collector_is_down() {
    let pipeline = start(&closed_endpoint(), &[]);
    end_spans(&pipeline, 3);
    assert_eq!(pipeline.shutdown(), SpanCounts { exported: 0, dropped: 3 });
    end_spans(&pipeline, 2);
    assert_eq!(pipeline.shutdown().exported, 0);
}

#[tokio::test]
async fn shutdown_returns_and_counts_drops_when_the_collector_accepts_and_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let pipeline = start(&endpoint, &[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")]);
    end_spans(&pipeline, 5);
    // A request is under way, which only the end of the shutdown's time can end.
    let _connection = listener.accept().unwrap();
    assert_eq!(pipeline.shutdown(), SpanCounts { exported: 0, dropped: 5 });
}

#[tokio::test]
async fn full_queue_drops_and_counts_and_the_program_goes_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let variables = [("OTEL_BSP_MAX_QUEUE_SIZE", "4"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")];
    let pipeline = start(&endpoint, &variables);
    end_spans(&pipeline, 2);
    let _connection = listener.accept().unwrap();
    // The first batch is on its way without an answer: the queue holds four more.
    end_spans(&pipeline, 10);
    assert_eq!(pipeline.counts(), SpanCounts { exported: 0, dropped: 6 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_are_sent_again_once_the_collector_is_back() {
    // One address, first refused, then served: the listener's port is taken again by nobody else in between.
    let endpoint = closed_endpoint();
    let pipeline = start(&endpoint, &[("OTEL_BSP_SCHEDULE_DELAY", "3600000")]);
    end_spans(&pipeline, 1);
    let pipeline = tokio::task::spawn_blocking(move || {
        assert!(pipeline.flush());
        pipeline
    });
    let pipeline = pipeline.await.unwrap();
    assert_eq!(pipeline.counts(), SpanCounts { exported: 0, dropped: 1 });

    let mut collector = Collector::start_at(endpoint.trim_start_matches("http://").parse().unwrap()).await;
    end_spans(&pipeline, 1);
    assert_eq!(flush_and_shut_down(pipeline).await, SpanCounts { exported: 1, dropped: 1 });
    assert_eq!(collector.received(1).await.len(), 1);
}

#[tokio::test]
async fn tracing_spans_arrive_but_not_those_of_the_exporters_own_crates() {
    let mut collector = Collector::start().await;
    let pipeline = start(&collector.endpoint(), &[("OTEL_BSP_SCHEDULE_DELAY", "1")]);
    let subscriber = tracing_subscriber::registry().with(pipeline.layer());
    tracing::subscriber::with_default(subscriber, || {
        let _request = tracing::info_span!("request").entered();
        tracing::info_span!(target: "h2::client", "connection").in_scope(|| {
            tracing::info_span!("query", "otel.kind" = "client").in_scope(|| tracing::error!("no such table"));
        });
        tracing::debug_span!("detail").in_scope(|| ());
    });
    let spans: Vec<_> = collector.received(2).await.iter().flat_map(|request| request.spans().cloned()).collect();
    let [query, request] = spans.as_slice() else {
        panic!("expected two spans, not {spans:?}");
    };
    assert_eq!((query.name.as_str(), request.name.as_str()), ("query", "request"));
    assert_eq!(query.parent_span_id, request.span_id);
    assert_eq!(query.kind, opentelemetry_proto::tonic::trace::v1::span::SpanKind::Client as i32);
    assert_eq!(query.events.len(), 1);
    assert_eq!(
        query.status.as_ref().unwrap().code,
        opentelemetry_proto::tonic::trace::v1::status::StatusCode::Error as i32
    );
    flush_and_shut_down(pipeline).await;
}

#[tokio::test]
async fn unsampled_parent_makes_no_spans_and_its_decision_goes_on() {
    let pipeline = start(&closed_endpoint(), &[]);
    let row = TraceContext::from(PARENT.replace("-03", "-00").parse::<TraceParent>().unwrap());
    let tracer = pipeline.tracer();
    let mut span = tracer.build_with_context(tracer.span_builder("relay"), &row.to_opentelemetry());
    assert!(!span.is_recording());
    assert!(!row.continued_by(span.span_context()).traceparent.is_sampled());
    span.end();
    assert_eq!(pipeline.shutdown(), SpanCounts::default());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_collector_takes_spans_of_those_who_know_it_and_whom_it_knows() {
    let (collector_certificate, collector_key) = certificate("localhost");
    let (own_certificate, own_key) = certificate("pillion");
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&collector_certificate, &collector_key))
        .client_ca_root(Certificate::from_pem(&own_certificate));
    let mut collector = Collector::start_with_tls(tls).await;
    let endpoint = format!("https://localhost:{}", collector.port());
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let trusted = file("collector.pem", &collector_certificate);
    let (own, key) = (file("own.pem", &own_certificate), file("own.key", &own_key));
    let variables = |authority| {
        [
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", authority),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", own.as_str()),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", key.as_str()),
        ]
    };

    let stranger = start(&endpoint, &variables(own.as_str()));
    end_spans(&stranger, 1);
    assert_eq!(flush_and_shut_down(stranger).await, SpanCounts { exported: 0, dropped: 1 });

    let pipeline = start(&endpoint, &variables(trusted.as_str()));
    end_spans(&pipeline, 1);
    assert_eq!(flush_and_shut_down(pipeline).await, SpanCounts { exported: 1, dropped: 0 });
    assert_eq!(collector.received(1).await.len(), 1);
}

/// A self-signed certificate and its key as PEM.
pub(crate) fn certificate(name: &str) -> (String, String) {
    let generated = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    (generated.cert.pem(), generated.signing_key.serialize_pem())
}

#[test]
fn missing_certificate_file_is_named() {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("https://localhost:4317".to_owned()),
        "OTEL_EXPORTER_OTLP_CERTIFICATE" => Some("/nowhere/ca.pem".to_owned()),
        _ => None,
    });
    let error = SpanPipeline::start(&settings.unwrap()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
}

#[test]
fn nothing_is_started_without_an_endpoint() {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |_| None).unwrap();
    assert!(SpanPipeline::start(&settings).unwrap().is_none());
}

#[tokio::test]
async fn spans_that_somebody_has_decided_on_are_sent_whatever_the_ratio_unless_the_sampler_says_never() {
    let mut collector = Collector::start().await;
    let ratio = [("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0")];
    let pipeline = start(&collector.endpoint(), &ratio);
    pipeline.tracer().start("undecided").end();
    pipeline.decided_tracer().unwrap().start("decided").end();
    assert_eq!(flush_and_shut_down(pipeline).await, SpanCounts { exported: 1, dropped: 0 });
    let received = collector.received(1).await;
    let names: Vec<_> = received.iter().flat_map(|request| request.spans()).map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["decided"]);
    let never = start(&collector.endpoint(), &[("OTEL_TRACES_SAMPLER", "always_off")]);
    assert!(never.decided_tracer().is_none());
}

#[tokio::test]
async fn limits_of_the_environment_hold_for_what_is_sent() {
    let mut collector = Collector::start().await;
    let limits = [("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1"), ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "3")];
    let pipeline = start(&collector.endpoint(), &limits);
    let mut span = pipeline.tracer().start("work");
    span.set_attributes([KeyValue::new("first", "12345"), KeyValue::new("second", "x")]);
    span.end();
    flush_and_shut_down(pipeline).await;
    let received = collector.received(1).await;
    let span = received[0].spans().next().unwrap();
    assert_eq!(span.attributes.len(), 1);
    assert_eq!(string_of(&span.attributes, "first"), Some("123"));
}
