//! Logs on standard error and spans to an OpenTelemetry collector, both from the `tracing` crate.
//!
//! Spans leave by OTLP when `OTEL_EXPORTER_OTLP_ENDPOINT` is set: over gRPC, or over HTTP when
//! `OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`; the other OTEL_* variables are read by the SDK. Metrics are for whoever asks for them ([`measures`]). Without an endpoint nothing is exported, but traces still have ids and still travel with the events.

mod measures;

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use opentelemetry::Key;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData};
use tokio::runtime::{Builder, Runtime};
use tracing::warn;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log_format::LogFormat;
use measures::Measures;

/// The log filter unless RUST_LOG gives one. What librdkafka logs by itself reaches the consumer as an error, too.
const LOG_DEFAULT: &str = "info,librdkafka=off,rdkafka::client=off";

/// How long a stopping service waits for a collector that does not answer.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// The same for metrics, which are sent side by side with the spans.
const METRICS_LIMIT: Duration = Duration::from_millis(200);

/// Runs a whole service with logs and traces, and sends the last spans when it has ended. `name` is the service's
/// unless OTEL_SERVICE_NAME says otherwise.
///
/// # Errors
/// The service's own, or when telemetry cannot be set up from the OTEL_* variables.
pub fn run(name: &'static str, service: impl Future<Output = Result<()>>) -> Result<()> {
    // The exporter has a runtime of its own: on the service's, the last flush would wait for itself.
    let exporter_runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    // HTTP clients ask for the process's cryptography when they are made, https or not.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (provider, meters) = {
        let _entered = exporter_runtime.enter();
        start(name)?
    };
    let outcome = Runtime::new()?.block_on(service);
    let last_metrics = std::thread::spawn(move || meters.map(|meters| meters.shutdown()));
    if let Err(error) = provider.shutdown_with_timeout(FLUSH_LIMIT) {
        warn!("the last spans are lost: {error}");
    }
    // They have had the time the spans took; a collector that does not answer gets no more than the limit in all.
    let began = Instant::now();
    while !last_metrics.is_finished() && began.elapsed() < METRICS_LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    exporter_runtime.shutdown_background();
    outcome
}

fn start(name: &'static str) -> Result<(SdkTracerProvider, Option<SdkMeterProvider>)> {
    let resource = resource(name);
    let service_name = resource.get(&Key::from_static_str("service.name")).map_or(name.into(), |name| name.to_string());
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let meters = measures::start(resource.clone(), variable)?;
    let mut provider = SdkTracerProvider::builder().with_resource(resource);
    if let Some(endpoint) = endpoint(variable) {
        // The HTTP exporter knows the rules of its endpoint's path, and so reads the variables itself.
        let exporter = match is_http(variable) {
            true => SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build(),
            false => SpanExporter::builder().with_tonic().with_endpoint(endpoint).build(),
        };
        let exporter = exporter.context("spans cannot be exported: check the OTEL_EXPORTER_OTLP_* variables")?;
        provider = provider.with_batch_exporter(WarnOnce { exporter, has_warned: AtomicBool::new(false) });
    }
    let provider = provider.build();

    // The exporter's own HTTP/2 spans must not be exported: each export would make more of them.
    let without_exporter = Targets::new().with_default(LevelFilter::INFO).with_targets(
        ["h2", "hyper", "hyper_util", "tonic", "tower", "opentelemetry"].map(|target| (target, LevelFilter::OFF)),
    );
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("pillion-saga"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(without_exporter);
    let logs = tracing_subscriber::fmt::layer()
        .event_format(LogFormat::new(service_name, std::env::var("LOG_FORMAT").is_ok_and(|format| format == "json")))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(EnvFilter::builder().parse(std::env::var("RUST_LOG").unwrap_or_else(|_| LOG_DEFAULT.into()))?);
    let measures = meters.as_ref().map(Measures::new);
    tracing_subscriber::registry().with(spans).with(logs).with(measures).try_init()?;
    Ok((provider, meters))
}

/// Where spans go; `None` when nobody asked for them. `host:port` without a scheme is taken as http.
fn endpoint(variable: impl Fn(&str) -> String) -> Option<String> {
    if variable("OTEL_SDK_DISABLED").eq_ignore_ascii_case("true") || variable("OTEL_TRACES_EXPORTER") == "none" {
        return None;
    }
    let names = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    let endpoint = names.map(&variable).into_iter().find(|endpoint| !endpoint.is_empty())?;
    Some(if endpoint.contains("://") { endpoint } else { format!("http://{endpoint}") })
}

/// Whether spans are to go over HTTP; the variable for traces comes before the one for every signal.
fn is_http(variable: impl Fn(&str) -> String) -> bool {
    let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    names.map(&variable).into_iter().find(|protocol| !protocol.is_empty()).is_some_and(|name| name == "http/protobuf")
}

/// The SDK reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES; `name` is for when they do not name the service.
fn resource(name: &'static str) -> Resource {
    let resource = Resource::builder().build();
    match resource.get(&Key::from_static_str("service.name")) {
        Some(given) if !given.as_str().starts_with("unknown_service") => resource,
        _ => Resource::builder().with_service_name(name).build(),
    }
}

/// Says once that the collector does not take spans; the service goes on without.
#[derive(Debug)]
struct WarnOnce {
    exporter: SpanExporter,
    has_warned: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for WarnOnce {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let outcome = self.exporter.export(batch).await;
        if let Err(error) = &outcome
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            warn!("spans are being dropped, the collector does not take them: {error}");
        }
        outcome
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

#[cfg(test)]
mod tests;
