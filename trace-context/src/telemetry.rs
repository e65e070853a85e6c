//! Telemetry of a program: log lines on standard error, spans by OTLP, as the environment asks.
//!
//! ```text
//! tracing span ── tracing-opentelemetry ──┐
//!                                         ├─ SDK tracer ─ span queue ─ export thread ─ OTLP ─ collector
//! hot path ─ telemetry::tracer() ─────────┘
//! meter() ─ periodic reader ─ OTLP ─ collector (metrics, when asked for)
//! tracing event ─┬ log line ─ standard error
//!                └ recent warnings ─ whoever asks
//! ```
//!
//! Spans off the hot paths are `tracing` spans. A hot path takes [`tracer`] and starts OpenTelemetry spans itself, with
//! the times it knows (`span_builder(…).with_start_time(…)`, `end_with_timestamp(…)`).
//!
//! Without a collector (see [`TelemetrySettings::from_lookup`]) nothing is recorded: no thread, no connection, no queue;
//! [`tracer`] answers `None` and messages keep the trace context they came with.
//!
//! Invariant: telemetry never holds up the program. Queue, requests and shutdown are bounded; what does not fit or
//! cannot be delivered is dropped and counted.

mod attribute_length;
mod export_thread;
mod exporter;
mod layers;
mod log_line;
mod metric_pipeline;
mod otlp_http;
mod pipeline;
mod recent;
mod repeats;
mod settings;
mod span_queue;
mod tls;

use std::sync::OnceLock;

use opentelemetry::metrics::Meter;
use opentelemetry_sdk::trace::SdkTracer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub use metric_pipeline::MetricPipeline;
pub use pipeline::{SHUTDOWN_LIMIT, SpanPipeline};
pub use recent::{RecentWarning, recent_warnings};
pub use settings::{
    CollectorSettings, DEFAULT_ENDPOINT, ExportSettings, LogFormat, MetricSettings, Protocol, SamplerSetting,
    SettingsError, SpanLimits, TelemetrySettings, TlsSettings,
};
pub use span_queue::SpanCounts;

/// The process's tracer, once [`init`] has started an export.
static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// The process's tracer of spans that are recorded whatever the sampler says.
static DECIDED_TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// The process's meter, once [`init`] has started an export of metrics.
static METER: OnceLock<Meter> = OnceLock::new();

/// Puts another filter of log lines in place, once [`init`] has set logs up.
static LOG_FILTER: OnceLock<layers::ReplaceFilter> = OnceLock::new();

/// Why telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The environment asks for something impossible.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The OTLP exporter refused its settings.
    #[error("cannot set up the OTLP exporter for {endpoint}")]
    Exporter {
        /// Where spans were to go.
        endpoint: String,
        /// What the exporter said.
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// The endpoint is no URL with a host.
    #[error("cannot send to {endpoint}: use http://host:port or https://host:port")]
    Endpoint {
        /// What was asked for.
        endpoint: String,
    },
    /// A certificate or key of `OTEL_EXPORTER_OTLP_CERTIFICATE` and its like cannot be read.
    #[error("cannot read {path} for TLS to the collector")]
    Certificate {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system gave no thread or no event loop for the export.
    #[error("cannot start the span export thread")]
    Thread(#[source] std::io::Error),
    /// The process has a `tracing` subscriber already.
    #[error("telemetry is set up once in a process, before anything else logs")]
    AlreadyInitialised,
}

/// Keeps telemetry running; ends it, within [`SHUTDOWN_LIMIT`], when dropped.
#[derive(Debug)]
#[must_use = "telemetry ends when its guard is dropped"]
pub struct TelemetryGuard {
    pipeline: Option<SpanPipeline>,
    metrics: Option<MetricPipeline>,
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        self.end();
    }
}

impl TelemetryGuard {
    /// Spans delivered and dropped so far; zeros where nothing is exported.
    pub fn span_counts(&self) -> SpanCounts {
        self.pipeline.as_ref().map(SpanPipeline::counts).unwrap_or_default()
    }

    /// Where spans go, or `None` where nothing is exported.
    pub fn endpoint(&self) -> Option<&str> {
        self.pipeline.as_ref().map(SpanPipeline::endpoint)
    }

    /// Sends what waits, for at most [`SHUTDOWN_LIMIT`], and ends the export. Spans ended later are dropped. Blocks the
    /// calling thread; the export does not run on it, so it is safe in an asynchronous task too.
    pub fn shutdown(self) -> SpanCounts {
        self.end()
    }

    fn end(&self) -> SpanCounts {
        // Side by side: each may take the whole time when its collector does not answer.
        std::thread::scope(|scope| {
            if let Some(metrics) = &self.metrics {
                scope.spawn(|| metrics.shutdown(SHUTDOWN_LIMIT * 4 / 5));
            }
            self.pipeline.as_ref().map(SpanPipeline::shutdown).unwrap_or_default()
        })
    }
}

/// Sets up logs and spans for the whole process from its environment. Call it once, first, and keep the guard.
///
/// # Errors
/// [`TelemetryError::Settings`] names every variable that cannot be used, with what to do.
pub fn init(service_name: &str, service_version: &str) -> Result<TelemetryGuard, TelemetryError> {
    init_with(&TelemetrySettings::from_environment(service_name, service_version)?)
}

/// [`init`] with settings read elsewhere.
pub fn init_with(settings: &TelemetrySettings) -> Result<TelemetryGuard, TelemetryError> {
    settings.propagators.put_in_force();
    let pipeline = SpanPipeline::start(settings)?;
    let metrics = MetricPipeline::start(settings)?;
    let (logs, replace_filter, filter_warning) = layers::logs(settings);
    tracing_subscriber::registry()
        .with(pipeline.as_ref().map(SpanPipeline::layer))
        .with(recent::layer())
        .with(logs)
        .try_init()
        .map_err(|_| TelemetryError::AlreadyInitialised)?;
    LOG_FILTER.get_or_init(|| replace_filter);
    for warning in settings.warnings.iter().chain(&filter_warning) {
        tracing::warn!("{warning}");
    }
    if let Some(pipeline) = &pipeline {
        TRACER.get_or_init(|| pipeline.tracer().clone());
        if let Some(decided) = pipeline.decided_tracer() {
            DECIDED_TRACER.get_or_init(|| decided.clone());
        }
        // Libraries that know only OpenTelemetry's API find the export here.
        opentelemetry::global::set_tracer_provider(pipeline.provider().clone());
        tracing::debug!(endpoint = pipeline.endpoint(), "spans are exported by OTLP");
    }
    if let Some(metrics) = &metrics {
        METER.get_or_init(|| metrics.meter());
        opentelemetry::global::set_meter_provider(metrics.provider().clone());
    }
    Ok(TelemetryGuard { pipeline, metrics })
}

/// Checks a filter of log lines, as `info,pillion_cdc=debug`.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_log_filter(filter: &str) -> Result<(), String> {
    layers::parsed(filter).map(drop)
}


/// Puts another filter of log lines in place while the program runs; nothing where no logs were set up.
///
/// # Errors
/// As [`check_log_filter`]; the one before stays.
pub fn set_log_filter(filter: &str) -> Result<(), String> {
    LOG_FILTER.get().map_or(Ok(()), |replace| replace(filter))
}

/// The process's tracer for hot paths, or `None` where nothing is exported. One atomic load.
///
/// After shutdown its spans have no valid ids: pass on what `TraceContext::continued_by` makes of them.
pub fn tracer() -> Option<&'static SdkTracer> {
    TRACER.get()
}

/// The process's tracer of spans that somebody has decided to record, as [`SpanPipeline::decided_tracer`]; `None` where
/// nothing is exported, or never is. One atomic load.
pub fn decided_tracer() -> Option<&'static SdkTracer> {
    DECIDED_TRACER.get()
}

/// The process's meter, or `None` where no metrics are exported: then nothing is measured.
pub fn meter() -> Option<&'static Meter> {
    METER.get()
}
