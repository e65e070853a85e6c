//! Metrics and their way to the collector, when somebody asks for them.
//!
//! The SDK's periodic reader collects on a thread of its own; what it exports is awaited there, while a one-thread event
//! loop moves the bytes. Invariant: an export ends with its time limit, or with the shutdown's; what is not delivered
//! is counted and told once, and totals make up for it with the next export.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opentelemetry::InstrumentationScope;
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;
use tokio_util::context::TokioContext;

use super::TelemetryError;
use super::exporter::over_grpc;
use super::otlp_http::OtlpHttp;
use super::pipeline::resource;
use super::settings::{CollectorSettings, MetricSettings, Protocol, TelemetrySettings};
use crate::conventions::SCHEMA_URL;

/// Meters whose metrics go to a collector. Ends itself when dropped.
#[derive(Debug)]
pub struct MetricPipeline {
    provider: SdkMeterProvider,
    outcome: Arc<Outcome>,
    runtime: Option<Runtime>,
}

/// What became of the exports, and until when they may go on.
#[derive(Debug)]
struct Outcome {
    exported: AtomicU64,
    dropped: AtomicU64,
    is_out: AtomicBool,
    stop_by: watch::Sender<Option<Instant>>,
}

impl MetricPipeline {
    /// Starts the export, or answers `None` where the settings want none.
    ///
    /// # Errors
    /// When the exporter refuses its settings, or no thread is to be had.
    pub fn start(settings: &TelemetrySettings) -> Result<Option<Self>, TelemetryError> {
        let Some(metrics) = &settings.metrics else { return Ok(None) };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_name("pillion-metrics")
            .enable_all()
            .build()
            .map_err(TelemetryError::Thread)?;
        let outcome = Arc::new(Outcome {
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            is_out: AtomicBool::new(false),
            stop_by: watch::Sender::new(None),
        });
        let entered = runtime.enter();
        let exporter = MetricExporter {
            way: Way::build(&metrics.collector)?,
            settings: metrics.clone(),
            outcome: Arc::clone(&outcome),
            runtime: runtime.handle().clone(),
        };
        drop(entered);
        let reader = PeriodicReader::builder(exporter).with_interval(metrics.interval).build();
        let provider = SdkMeterProvider::builder().with_resource(resource(settings)).with_reader(reader).build();
        Ok(Some(Self { provider, outcome, runtime: Some(runtime) }))
    }

    /// Makes pillion's instruments.
    pub fn meter(&self) -> Meter {
        let scope = InstrumentationScope::builder("pillion")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        self.provider.meter_with_scope(scope)
    }

    /// What makes meters of other scopes.
    pub fn provider(&self) -> &SdkMeterProvider {
        &self.provider
    }

    /// Collects and exports now; false if the collector did not take it.
    pub fn flush(&self) -> bool {
        self.provider.force_flush().is_ok()
    }

    /// Exports delivered and not delivered so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.outcome.exported.load(Ordering::Relaxed), self.outcome.dropped.load(Ordering::Relaxed))
    }

    /// Exports a last time, for at most `limit`.
    pub fn shutdown(&self, limit: Duration) {
        self.outcome.stop_by.send_replace(Some(Instant::now() + limit));
        // A failure has been told, or there is nothing to tell: it is shut down.
        let _ = self.provider.shutdown();
    }
}

impl Drop for MetricPipeline {
    fn drop(&mut self) {
        self.shutdown(super::SHUTDOWN_LIMIT * 4 / 5);
        if let Some(runtime) = self.runtime.take() {
            // A name look-up may hang in a blocking thread: nobody waits for it.
            runtime.shutdown_background();
        }
    }
}

struct MetricExporter {
    way: Way,
    settings: MetricSettings,
    outcome: Arc<Outcome>,
    runtime: Handle,
}

enum Way {
    Grpc(opentelemetry_otlp::MetricExporter),
    Http(OtlpHttp),
}

impl Way {
    fn build(settings: &CollectorSettings) -> Result<Self, TelemetryError> {
        if settings.protocol == Protocol::HttpProtobuf {
            return Ok(Self::Http(OtlpHttp::new(settings)?));
        }
        let built = over_grpc(opentelemetry_otlp::MetricExporter::builder().with_tonic(), settings)?.build();
        let failed = |source| TelemetryError::Exporter { endpoint: settings.endpoint.clone(), source };
        Ok(Self::Grpc(built.map_err(failed)?))
    }

    async fn send(&self, metrics: &ResourceMetrics) -> Result<(), String> {
        match self {
            Self::Grpc(exporter) => exporter.export(metrics).await.map_err(|error| error.to_string()),
            Self::Http(collector) => collector.send(&ExportMetricsServiceRequest::from(metrics)).await,
        }
    }
}

impl MetricExporter {
    async fn send(&self, metrics: &ResourceMetrics) -> Result<(), String> {
        let timeout = self.settings.collector.timeout;
        let mut stop_by = self.outcome.stop_by.subscribe();
        let stopped = async {
            let deadline = stop_by.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline);
            tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now).into()).await;
        };
        tokio::select! {
            sent = tokio::time::timeout(timeout, self.way.send(metrics)) => match sent {
                Ok(result) => result,
                Err(_) => Err(format!("no answer within {timeout:?}")),
            },
            () = stopped => Err("telemetry is shut down".to_owned()),
        }
    }
}

impl PushMetricExporter for MetricExporter {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let (outcome, endpoint) = (&self.outcome, self.settings.collector.endpoint.as_str());
        match TokioContext::new(self.send(metrics), self.runtime.clone()).await {
            Ok(()) => {
                outcome.exported.fetch_add(1, Ordering::Relaxed);
                if outcome.is_out.swap(false, Ordering::Relaxed) {
                    tracing::info!(endpoint, "the collector takes metrics again");
                }
                Ok(())
            }
            Err(reason) => {
                outcome.dropped.fetch_add(1, Ordering::Relaxed);
                if !outcome.is_out.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        endpoint,
                        reason,
                        "the collector takes no metrics: exports are dropped until it does"
                    );
                }
                Err(OTelSdkError::InternalFailure(reason))
            }
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        if self.settings.is_delta { Temporality::Delta } else { Temporality::Cumulative }
    }
}
