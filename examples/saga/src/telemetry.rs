//! Logs on standard error and spans to an OpenTelemetry collector, both from the `tracing` crate.
//!
//! Spans leave over OTLP/gRPC when `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the other OTEL_* variables are read by the SDK.
//! Without an endpoint nothing is exported, but traces still have ids and still travel with the events.

use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry::{Key, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::log_format::LogFormat;

/// How long a stopping service waits for a collector that does not answer.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// Exports until [`Telemetry::shutdown`] is called.
#[must_use = "spans not yet sent are lost without a shutdown"]
pub struct Telemetry {
    provider: SdkTracerProvider,
    exporter_runtime: Option<Runtime>,
}

/// Starts logging and tracing for the whole process; `service` names it unless OTEL_SERVICE_NAME does.
///
/// # Errors
/// When the exporter cannot be built from the OTEL_* variables, or when called twice.
pub fn start(service: &'static str) -> Result<Telemetry> {
    let resource = resource(service);
    let service_name = resource.get(&Key::from_static_str("service.name")).map_or(service.into(), |name| name.to_string());
    let mut provider = SdkTracerProvider::builder().with_resource(resource);
    let mut exporter_runtime = None;
    if export_is_wanted() {
        // A runtime of its own: on the service's runtime a flush at shutdown would wait for itself.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let exporter = runtime.block_on(async { SpanExporter::builder().with_tonic().build() });
        provider = provider.with_batch_exporter(exporter.context("OTLP exporter: check the OTEL_EXPORTER_OTLP_* variables")?);
        exporter_runtime = Some(runtime);
    }
    let provider = provider.build();

    // The exporter's own HTTP/2 spans must not be exported: each export would make more of them.
    let without_exporter = Targets::new()
        .with_default(LevelFilter::INFO)
        .with_targets(["h2", "hyper", "hyper_util", "tonic", "tower", "opentelemetry"].map(|target| (target, LevelFilter::OFF)));
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("pillion-saga"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_filter(without_exporter);
    let logs = tracing_subscriber::fmt::layer()
        .event_format(LogFormat::new(service_name))
        .with_writer(std::io::stderr)
        .with_filter(EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env()?);
    tracing_subscriber::registry().with(spans).with(logs).try_init()?;
    Ok(Telemetry { provider, exporter_runtime })
}

impl Telemetry {
    /// Sends what is left, for at most a second.
    pub fn shutdown(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FLUSH_LIMIT) {
            tracing::warn!("spans may be missing: the collector did not take them ({error})");
        }
        if let Some(runtime) = self.exporter_runtime {
            runtime.shutdown_background();
        }
    }
}

fn export_is_wanted() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let has_endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].map(variable).iter().any(|endpoint| !endpoint.is_empty());
    has_endpoint && !variable("OTEL_SDK_DISABLED").eq_ignore_ascii_case("true") && variable("OTEL_TRACES_EXPORTER") != "none"
}

fn resource(service: &'static str) -> Resource {
    let named = |resource: &Resource| {
        resource.get(&Key::from_static_str("service.name")).is_some_and(|name| !name.as_str().starts_with("unknown_service"))
    };
    let from_environment = Resource::builder().build();
    if named(&from_environment) { from_environment } else { Resource::builder().with_service_name(service).build() }
}

/// Lets a fallible future run in a span of its own.
pub trait Traced<T, E>: Future<Output = Result<T, E>> + Sized
where
    E: Into<anyhow::Error>,
{
    /// Runs in `span`; an error marks it red and is recorded as its exception. Logging is left to whoever handles it.
    fn traced(self, span: Span) -> impl Future<Output = anyhow::Result<T>> {
        async move {
            let outcome = self.await.map_err(Into::into);
            if let Err(error) = &outcome {
                record_exception(&Span::current(), error);
            }
            outcome
        }
        .instrument(span)
    }
}

impl<F, T, E> Traced<T, E> for F
where
    F: Future<Output = Result<T, E>>,
    E: Into<anyhow::Error>,
{
}

fn record_exception(span: &Span, error: &anyhow::Error) {
    let message = format!("{error:#}");
    span.add_event("exception", vec![KeyValue::new("exception.message", message.clone())]);
    span.set_status(Status::error(message));
}
