//! Metrics on their way to a collector: one that answers, one that never does, and none at all.

use std::net::TcpListener;
use std::time::Duration;

use hyper::StatusCode;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use pillion_trace_context::telemetry::{MetricPipeline, TelemetrySettings};
use prost::Message;

use crate::http::HttpCollector;

fn start(endpoint: &str, protocol: &str) -> MetricPipeline {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |name| match name {
        "OTEL_METRICS_EXPORTER" => Some("otlp".to_owned()),
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
        "OTEL_EXPORTER_OTLP_PROTOCOL" => Some(protocol.to_owned()),
        _ => None,
    });
    MetricPipeline::start(&settings.unwrap()).unwrap().expect("metrics are asked for")
}

/// Name and sum of the one counter a request has.
fn sum(body: &[u8]) -> (String, i64) {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let metric = request.resource_metrics[0].scope_metrics[0].metrics[0].clone();
    let Some(Data::Sum(sum)) = metric.data else { panic!("a sum, not {metric:?}") };
    let Some(Value::AsInt(value)) = sum.data_points[0].value else { panic!("an integer, not {sum:?}") };
    (metric.name, value)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_arrive_at_the_path_for_metrics_and_make_up_for_a_refused_export() {
    let mut collector = HttpCollector::start(&[(StatusCode::BAD_REQUEST, "no")]).await;
    let pipeline = start(&format!("http://{}", collector.address), "http/protobuf");
    let flushed = tokio::task::spawn_blocking(move || {
        let counter = pipeline.meter().u64_counter("messaging.client.sent.messages").build();
        counter.add(2, &[]);
        let refused = pipeline.flush();
        counter.add(3, &[]);
        (refused, pipeline.flush(), pipeline.counts())
    });
    assert_eq!(flushed.await.unwrap(), (false, true, (1, 1)));
    for expected in [2, 5] {
        let asked = collector.asked.recv().await.unwrap();
        assert_eq!(asked.path, "/v1/metrics");
        assert_eq!(sum(&asked.body), ("messaging.client.sent.messages".to_owned(), expected));
    }
}

#[test]
fn an_export_nobody_takes_is_counted_and_ends_with_the_shutdown() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [closed, silent.local_addr().unwrap()] {
        for protocol in ["grpc", "http/protobuf"] {
            let pipeline = start(&format!("http://{address}"), protocol);
            pipeline.meter().u64_counter("lost").build().add(1, &[]);
            pipeline.shutdown(Duration::from_millis(200));
            assert_eq!(pipeline.counts(), (0, 1), "{address} {protocol}");
        }
    }
}

#[test]
fn nothing_is_started_unless_asked_for() {
    let settings = TelemetrySettings::from_lookup("pillion", "1.2.3", |_| None).unwrap();
    assert!(MetricPipeline::start(&settings).unwrap().is_none());
}
