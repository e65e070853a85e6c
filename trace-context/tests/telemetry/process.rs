//! Telemetry of a whole process: one subscriber, one tracer. One test, because both are global.

use crate::collector::Collector;
use opentelemetry::trace::{Span as _, Tracer};
use pillion_trace_context::telemetry::{self, SpanCounts, TelemetryError, TelemetrySettings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn process_has_one_tracer_from_init_and_none_before() {
    let mut collector = Collector::start().await;
    let endpoint = collector.endpoint();
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.trim_start_matches("http://").to_owned()),
        "OTEL_BSP_SCHEDULE_DELAY" => Some("1".to_owned()),
        "OTEL_SERVICE_NAME" => Some("named".to_owned()),
        "PILLION_LOG" => Some("not=a=filter".to_owned()),
        _ => None,
    })
    .unwrap();
    assert!(telemetry::tracer().is_none());

    let guard = telemetry::init_with(&settings).unwrap();
    assert_eq!(guard.endpoint(), Some(endpoint.as_str()));
    assert!(matches!(telemetry::init_with(&settings), Err(TelemetryError::AlreadyInitialised)));
    tracing::info_span!("through tracing").in_scope(|| tracing::info!("hello"));
    telemetry::tracer().unwrap().start("directly").end();
    opentelemetry::global::tracer("a library").start("by the API alone").end();
    let received = collector.received(3).await;
    assert_eq!(received[0].resource_attribute("service.name"), Some("named"));
    let names: Vec<_> = received.iter().flat_map(|request| request.spans()).map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["through tracing", "directly", "by the API alone"]);

    let counts = tokio::task::spawn_blocking(|| guard.shutdown()).await.unwrap();

    assert_eq!(counts, SpanCounts { exported: 3, dropped: 0 });
    let late = telemetry::tracer().unwrap().start("after shutdown");
    assert!(!late.span_context().is_valid());
}
