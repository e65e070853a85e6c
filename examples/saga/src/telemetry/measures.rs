//! Metrics from what the spans tell: how long requests and events take, how many there are, and how many fail.
//!
//! Off unless `OTEL_METRICS_EXPORTER=otlp` or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` is set. A layer of `tracing` sees
//! every span, also those whose trace is not sampled, so that rates are true whatever the sampling. Names are those of
//! OpenTelemetry's semantic conventions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber, warn};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// Upper bounds of the histograms, seconds, as the conventions advise.
const BOUNDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// A server's span, as `http` names it, and what of it is an attribute of the metric: few values each.
const REQUEST: (&str, &[&str]) = ("request", &["http.request.method", "http.route", "http.response.status_code"]);
/// A consumer's span, as `messaging` names it.
const PROCESS: (&str, &[&str]) = (
    "process",
    &[
        "messaging.system",
        "messaging.operation.name",
        "messaging.destination.name",
        "messaging.destination.partition.id",
        "messaging.consumer.group.name",
    ],
);

/// Sends metrics to a collector, if the environment asks for it. To be called inside of the exporter's runtime.
///
/// # Errors
/// When the `OTEL_EXPORTER_OTLP_*` variables cannot be used.
pub(super) fn start(resource: Resource, variable: impl Fn(&str) -> String) -> Result<Option<SdkMeterProvider>> {
    if !is_wanted(&variable) {
        return Ok(None);
    }
    let names = ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let protocol = names.map(&variable).into_iter().find(|protocol| !protocol.is_empty());
    let exporter = match protocol.as_deref() {
        Some("http/protobuf") => MetricExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build(),
        _ => MetricExporter::builder().with_tonic().build(),
    };
    let exporter = exporter.context("metrics cannot be exported: check the OTEL_EXPORTER_OTLP_* variables")?;
    // Its interval is OTEL_METRIC_EXPORT_INTERVAL, a minute unless that is set.
    let reader = PeriodicReader::builder(WarnOnce { exporter, has_warned: AtomicBool::new(false) }).build();
    Ok(Some(SdkMeterProvider::builder().with_resource(resource).with_reader(reader).build()))
}

fn is_wanted(variable: impl Fn(&str) -> String) -> bool {
    if variable("OTEL_SDK_DISABLED").eq_ignore_ascii_case("true") {
        return false;
    }
    match variable("OTEL_METRICS_EXPORTER").as_str() {
        "" => !variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").is_empty(),
        name => name == "otlp",
    }
}

/// The layer that measures spans.
pub(super) struct Measures {
    requests: Histogram<f64>,
    processes: Histogram<f64>,
    consumed: Counter<u64>,
}

impl Measures {
    pub(super) fn new(provider: &SdkMeterProvider) -> Measures {
        let meter = provider.meter("pillion-saga");
        let histogram = |name, description| {
            let builder = meter.f64_histogram(name).with_unit("s").with_description(description);
            builder.with_boundaries(BOUNDS.to_vec()).build()
        };
        Measures {
            requests: histogram("http.server.request.duration", "How long requests take."),
            processes: histogram("messaging.process.duration", "How long the work on events takes."),
            consumed: meter.u64_counter("messaging.client.consumed.messages").with_unit("{message}").build(),
        }
    }
}

/// What is known of a span so far.
struct Measured {
    kept: &'static [&'static str],
    is_request: bool,
    since: Instant,
    attributes: Vec<KeyValue>,
    messages: u64,
    has_failed: bool,
}

impl<S> Layer<S> for Measures
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let name = attributes.metadata().name();
        let Some((_, kept)) = [REQUEST, PROCESS].into_iter().find(|(known, _)| *known == name) else { return };
        let mut measured = Measured {
            kept,
            is_request: name == REQUEST.0,
            since: Instant::now(),
            attributes: Vec::new(),
            messages: 1,
            has_failed: false,
        };
        attributes.record(&mut measured);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(measured);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(measured) = span.extensions_mut().get_mut::<Measured>()
        {
            values.record(measured);
        }
    }

    /// Whoever logs an error within a span says that its work has failed.
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if *event.metadata().level() != Level::ERROR {
            return;
        }
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(measured) = span.extensions_mut().get_mut::<Measured>() {
                measured.has_failed = true;
            }
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let measured = context.span(&id).and_then(|span| span.extensions_mut().remove::<Measured>());
        let Some(mut measured) = measured else { return };
        if measured.is_request {
            measured.attributes.push(KeyValue::new("url.scheme", "http"));
        } else {
            self.consumed.add(measured.messages, &measured.attributes);
        }
        if measured.has_failed {
            measured.attributes.push(KeyValue::new("error.type", "_OTHER"));
        }
        let duration = if measured.is_request { &self.requests } else { &self.processes };
        duration.record(measured.since.elapsed().as_secs_f64(), &measured.attributes);
    }
}

impl Measured {
    fn keep(&mut self, field: &Field, value: impl Into<opentelemetry::Value>) {
        if self.kept.contains(&field.name()) {
            self.attributes.push(KeyValue::new(field.name(), value));
        }
    }
}

impl Visit for Measured {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "messaging.batch.message_count" {
            self.messages = value;
        }
        self.keep(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.keep(field, format!("{value:?}"));
    }
}

/// Says once that the collector does not take metrics; the service goes on without.
struct WarnOnce {
    exporter: MetricExporter,
    has_warned: AtomicBool,
}

impl PushMetricExporter for WarnOnce {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let outcome = self.exporter.export(metrics).await;
        if let Err(error) = &outcome
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            warn!("metrics are not delivered, the collector does not take them: {error}");
        }
        outcome
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests;
