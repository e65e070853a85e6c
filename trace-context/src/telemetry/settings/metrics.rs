//! Metrics by OTLP: off unless somebody asks for them.

use std::time::Duration;

use super::collector::{self, CollectorSettings, Signal};
use super::values::Environment;

/// Where metrics go and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSettings {
    /// The collector.
    pub collector: CollectorSettings,
    /// From one export to the next (`OTEL_METRIC_EXPORT_INTERVAL`).
    pub interval: Duration,
    /// Whether each export tells what was added since the last one, instead of totals
    /// (`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta`).
    pub is_delta: bool,
}

/// Metrics are sent when `OTEL_METRICS_EXPORTER` names `otlp`, or when they have an endpoint of their own. One endpoint
/// for all signals is not enough: many have Jaeger there, which takes no metrics.
pub(super) fn read(environment: &mut Environment<'_>) -> Option<MetricSettings> {
    const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
    const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    let exporters = environment.list("OTEL_METRICS_EXPORTER");
    for name in exporters.iter().filter(|name| !matches!(name.as_str(), "otlp" | "none")) {
        environment.warn(format!("OTEL_METRICS_EXPORTER names '{name}', which is not built in: use otlp or none"));
    }
    let has_own_endpoint = environment.text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT").is_some();
    let is_wanted = exporters.iter().any(|name| name == "otlp") || (exporters.is_empty() && has_own_endpoint);
    is_wanted.then(|| {
        let mut collector = collector::read(environment, Signal::Metrics);
        let timeout = environment.milliseconds("OTEL_METRIC_EXPORT_TIMEOUT").unwrap_or(DEFAULT_TIMEOUT);
        collector.timeout = collector.timeout.min(timeout);
        let interval = environment.milliseconds("OTEL_METRIC_EXPORT_INTERVAL").unwrap_or(DEFAULT_INTERVAL);
        let preference = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
        let is_delta = environment.choice(preference, &[("cumulative", false), ("delta", true)]).unwrap_or(false);
        MetricSettings { collector, interval, is_delta }
    })
}
