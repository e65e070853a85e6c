//! The `OTEL_*` environment, read once into plain values.
//!
//! Read here rather than by the SDK, which ignores or misreads several variables and says so to nobody. Everything is
//! a function of a look-up closure: no process environment in tests. As the specification asks, an empty variable is
//! an unset one, and an unreadable number or name is ignored with a warning; only what would send spans nowhere
//! without a word (endpoint, protocol) is an error.

mod collector;
mod limits;
mod metrics;
mod values;

use std::time::Duration;

use crate::propagators::Propagators;
use collector::Signal;
use values::Environment;

pub use collector::{CollectorSettings, DEFAULT_ENDPOINT, Protocol, TlsSettings};
pub use limits::SpanLimits;
pub use metrics::MetricSettings;

/// What telemetry a program makes and where it goes.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// `service.name` of every span and log line.
    pub service_name: String,
    /// Further resource attributes, `service.name` not among them.
    pub resource_attributes: Vec<(String, String)>,
    /// Where spans go; `None`: nothing is recorded, no thread and no connection is made.
    pub export: Option<ExportSettings>,
    /// Metrics by OTLP; `None`: no instrument measures anything.
    pub metrics: Option<MetricSettings>,
    /// Which spans are recorded.
    pub sampler: SamplerSetting,
    /// What of a span is kept.
    pub limits: SpanLimits,
    /// The headers that trace context is read from and written to.
    pub propagators: Propagators,
    /// Filter of the log lines: `PILLION_LOG`, else `RUST_LOG`, else `info`.
    pub log_filter: String,
    /// How log lines look; `None`: human on a terminal, JSON elsewhere.
    pub log_format: Option<LogFormat>,
    /// What a person should know about the environment: each is logged once.
    pub warnings: Vec<String>,
}

/// Where spans go and the queue before it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportSettings {
    /// The collector.
    pub collector: CollectorSettings,
    /// Spans waiting; one more is dropped and counted. At least 1.
    pub queue_size: usize,
    /// Spans of one request, at most `queue_size`. At least 1.
    pub batch_size: usize,
    /// A span waits this long for others before it is sent.
    pub schedule_delay: Duration,
}

/// Which spans are recorded (`OTEL_TRACES_SAMPLER`). Ratios are from 0 to 1, applied to the trace id.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SamplerSetting {
    /// Every span.
    AlwaysOn,
    /// No span.
    AlwaysOff,
    /// This part of all traces.
    TraceIdRatio(f64),
    /// What the parent says; roots always. The default.
    ParentBasedAlwaysOn,
    /// What the parent says; roots never.
    ParentBasedAlwaysOff,
    /// What the parent says; this part of the roots.
    ParentBasedTraceIdRatio(f64),
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One line with `[service,traceId,spanId]`.
    Human,
    /// One JSON object a line with `service`, `trace_id` and `span_id`.
    Json,
}

/// What is wrong with the environment; every problem at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("telemetry settings: {}", problems.join("; "))]
pub struct SettingsError {
    /// One sentence each: the variable, what it holds, what to do.
    pub problems: Vec<String>,
}

impl TelemetrySettings {
    /// Reads the process environment. `service_name` and `service_version` hold unless the environment names others.
    pub fn from_environment(service_name: &str, service_version: &str) -> Result<Self, SettingsError> {
        Self::from_lookup(service_name, service_version, |name| std::env::var(name).ok())
    }

    /// Reads settings through `lookup`, which answers the value of an environment variable.
    ///
    /// Spans are exported when an endpoint is set or `OTEL_TRACES_EXPORTER` names `otlp`, unless that is `none` or
    /// `OTEL_SDK_DISABLED` is `true`: a sidecar nobody gave a collector stays idle.
    pub fn from_lookup(
        service_name: &str,
        service_version: &str,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        let mut environment = Environment::new(&lookup);
        let (service_name, resource_attributes) = resource(&mut environment, service_name, service_version);
        let sampler = sampler(&mut environment);
        let limits = limits::read(&mut environment);
        let propagators = propagators(&mut environment);
        let log_format =
            environment.choice("PILLION_LOG_FORMAT", &[("human", LogFormat::Human), ("json", LogFormat::Json)]);
        let log_filter = ["PILLION_LOG", "RUST_LOG"].iter().find_map(|name| environment.text(name));
        let is_disabled = environment.text("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let export = (!is_disabled && is_export_wanted(&mut environment)).then(|| export(&mut environment));
        let metrics = if is_disabled { None } else { metrics::read(&mut environment) };
        let (warnings, problems) = environment.into_messages();
        if !problems.is_empty() {
            return Err(SettingsError { problems });
        }
        let log_filter = log_filter.unwrap_or_else(|| "info".to_owned());
        Ok(Self {
            service_name,
            resource_attributes,
            export,
            metrics,
            sampler,
            limits,
            propagators,
            log_filter,
            log_format,
            warnings,
        })
    }
}

/// `OTEL_SERVICE_NAME` before `service.name` in `OTEL_RESOURCE_ATTRIBUTES` before the program's own name.
fn resource(environment: &mut Environment<'_>, name: &str, version: &str) -> (String, Vec<(String, String)>) {
    let mut attributes = environment.pairs("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let named = attributes.iter().position(|(key, _)| key == crate::conventions::SERVICE_NAME);
    let attribute_name = named.map(|index| attributes.remove(index).1);
    attributes.retain(|(key, _)| key != crate::conventions::SERVICE_NAME);
    let has_version = attributes.iter().any(|(key, _)| key == crate::conventions::SERVICE_VERSION);
    if !has_version {
        attributes.push((crate::conventions::SERVICE_VERSION.to_owned(), version.to_owned()));
    }
    let name = environment.text("OTEL_SERVICE_NAME").or(attribute_name).unwrap_or_else(|| name.to_owned());
    (name, attributes)
}

fn sampler(environment: &mut Environment<'_>) -> SamplerSetting {
    const DEFAULT: SamplerSetting = SamplerSetting::ParentBasedAlwaysOn;
    let ratio = environment.ratio("OTEL_TRACES_SAMPLER_ARG").unwrap_or(1.0);
    let known = [
        ("always_on", SamplerSetting::AlwaysOn),
        ("always_off", SamplerSetting::AlwaysOff),
        ("traceidratio", SamplerSetting::TraceIdRatio(ratio)),
        ("parentbased_always_on", SamplerSetting::ParentBasedAlwaysOn),
        ("parentbased_always_off", SamplerSetting::ParentBasedAlwaysOff),
        ("parentbased_traceidratio", SamplerSetting::ParentBasedTraceIdRatio(ratio)),
    ];
    environment.choice("OTEL_TRACES_SAMPLER", &known).unwrap_or(DEFAULT)
}

fn propagators(environment: &mut Environment<'_>) -> Propagators {
    let names = environment.list("OTEL_PROPAGATORS");
    if names.is_empty() {
        return Propagators::DEFAULT;
    }
    let (propagators, unknown) = Propagators::named(names.iter().map(String::as_str));
    for name in unknown {
        environment.warn(format!(
            "OTEL_PROPAGATORS names '{name}', which is not built in: use tracecontext, baggage, b3, b3multi or none"
        ));
    }
    propagators
}

fn is_export_wanted(environment: &mut Environment<'_>) -> bool {
    let exporters = environment.list("OTEL_TRACES_EXPORTER");
    for name in exporters.iter().filter(|name| !matches!(name.as_str(), "otlp" | "none")) {
        environment.warn(format!("OTEL_TRACES_EXPORTER names '{name}', which is not built in: use otlp or none"));
    }
    let is_otlp = exporters.iter().any(|name| name == "otlp");
    let has_endpoint = environment.signal(Signal::Traces, "ENDPOINT").is_some();
    is_otlp || (exporters.is_empty() && has_endpoint)
}

fn export(environment: &mut Environment<'_>) -> ExportSettings {
    const DEFAULT_SCHEDULE_DELAY: Duration = Duration::from_secs(5);
    const DEFAULT_EXPORT_TIMEOUT: Duration = Duration::from_secs(30);
    const DEFAULT_QUEUE_SIZE: usize = 2048;
    const DEFAULT_BATCH_SIZE: usize = 512;

    let mut collector = collector::read(environment, Signal::Traces);
    let export_timeout = environment.milliseconds("OTEL_BSP_EXPORT_TIMEOUT").unwrap_or(DEFAULT_EXPORT_TIMEOUT);
    collector.timeout = collector.timeout.min(export_timeout);
    let queue_size = environment.count("OTEL_BSP_MAX_QUEUE_SIZE").unwrap_or(DEFAULT_QUEUE_SIZE);
    let batch_size = environment.count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE").unwrap_or(DEFAULT_BATCH_SIZE);
    let schedule_delay = environment.milliseconds("OTEL_BSP_SCHEDULE_DELAY").unwrap_or(DEFAULT_SCHEDULE_DELAY);
    ExportSettings { collector, queue_size, batch_size: batch_size.min(queue_size), schedule_delay }
}

#[cfg(test)]
mod documentation;
#[cfg(test)]
mod tests;
