use opentelemetry_sdk::metrics::InMemoryMetricExporter;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use tracing::{error, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

#[test]
fn metrics_are_sent_only_when_asked_for() {
    let is_wanted_with = |variables: &[(&str, &str)]| {
        is_wanted(|name| {
            variables.iter().find(|(key, _)| *key == name).map_or(String::new(), |(_, value)| (*value).into())
        })
    };
    let own = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector:4317");
    assert!(!is_wanted_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317")]));
    assert!(is_wanted_with(&[own]));
    assert!(is_wanted_with(&[("OTEL_METRICS_EXPORTER", "otlp")]));
    assert!(!is_wanted_with(&[own, ("OTEL_METRICS_EXPORTER", "none")]));
    assert!(!is_wanted_with(&[own, ("OTEL_SDK_DISABLED", "true")]));
}

/// `attributes=count` of each point of a histogram.
fn points(exporter: &InMemoryMetricExporter, name: &str) -> Vec<String> {
    let finished = exporter.get_finished_metrics().unwrap();
    let metrics = finished.iter().flat_map(ResourceMetrics::scope_metrics).flat_map(|scope| scope.metrics());
    let mut found = Vec::new();
    for metric in metrics.filter(|metric| metric.name() == name) {
        if let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() {
            found.extend(histogram.data_points().map(|point| {
                let mut attributes: Vec<_> =
                    point.attributes().map(|one| format!("{}={}", one.key, one.value)).collect();
                attributes.sort();
                format!("{}: {}", attributes.join(" "), point.count())
            }));
        }
    }
    found.sort();
    found
}

#[test]
fn spans_become_durations_with_few_attributes_and_errors_told_apart() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    let subscriber = tracing_subscriber::registry().with(Measures::new(&provider));
    tracing::subscriber::with_default(subscriber, || {
        for fails in [false, false, true] {
            let span = info_span!(
                "request",
                http.route = "/orders",
                url.path = "/orders?1",
                http.response.status_code = tracing::field::Empty
            );
            span.in_scope(|| {
                info_span!("query").in_scope(|| {
                    if fails {
                        error!("no database");
                    }
                });
            });
            span.record("http.response.status_code", if fails { 500_u16 } else { 202 });
        }
        drop(info_span!("process", messaging.destination.name = "orders", messaging.message.id = "7"));
    });
    provider.force_flush().unwrap();
    let expected = [
        "error.type=_OTHER http.response.status_code=500 http.route=/orders url.scheme=http: 1",
        "http.response.status_code=202 http.route=/orders url.scheme=http: 2",
    ];
    assert_eq!(points(&exporter, "http.server.request.duration"), expected);
    assert_eq!(points(&exporter, "messaging.process.duration"), ["messaging.destination.name=orders: 1"]);
}
