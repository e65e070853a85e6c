//! The two `tracing` layers: spans for the collector, lines for standard error, each with its own filter.

use std::io::IsTerminal;

use opentelemetry_sdk::trace::SdkTracer;
use tracing::Metadata;
use tracing_subscriber::filter::{EnvFilter, LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, fmt, reload};

use super::log_line::LogLine;
use super::settings::{LogFormat, TelemetrySettings};

/// Crates below the exporter: their spans would be made by sending spans, and so on without end.
const UNEXPORTED_CRATES: [&str; 5] = ["h2", "hyper", "tonic", "tower", "opentelemetry"];

/// The target of spans that are there for the log's lines only, such as one around a whole connector.
const LOG_CONTEXT: &str = "log_context";

/// Spans and their events of level `INFO` and above become spans of `tracer`.
pub(super) fn spans<S>(tracer: SdkTracer) -> impl Layer<S> + use<S>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_threads(false)
        .with_filter(filter_fn(is_exported).with_max_level_hint(LevelFilter::INFO))
}

/// Puts another filter of log lines in place.
pub(super) type ReplaceFilter = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Reads a filter.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn parsed(filter: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(filter).map_err(|error| format!("{error}; use info, or target=level,…"))
}

/// Log lines on standard error, what puts another filter in place, and a warning if the filter cannot be read: then
/// `info` holds.
pub(super) fn logs<S>(settings: &TelemetrySettings) -> (impl Layer<S> + use<S>, ReplaceFilter, Option<String>)
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let (filter, warning) = match parsed(&settings.log_filter) {
        Ok(filter) => (filter, None),
        Err(error) => {
            let text = format!("log filter '{}' is ignored: {error}", settings.log_filter);
            (EnvFilter::new("info"), Some(text))
        }
    };
    let (filter, handle) = reload::Layer::new(filter);
    let replace = move |filter: &str| handle.reload(parsed(filter)?).map_err(|error| error.to_string());
    let is_terminal = std::io::stderr().is_terminal();
    let format = settings.log_format.unwrap_or(if is_terminal { LogFormat::Human } else { LogFormat::Json });
    let is_coloured = is_terminal && format == LogFormat::Human && std::env::var_os("NO_COLOR").is_none();
    let layer = fmt::layer()
        .with_ansi(is_coloured)
        .event_format(LogLine::new(&settings.service_name, format))
        .with_writer(std::io::stderr)
        .with_filter(filter);
    (layer, Box::new(replace), warning)
}

fn is_exported(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= tracing::Level::INFO
        && metadata.target() != LOG_CONTEXT
        && !is_below_exporter(metadata.target())
}

/// Whether a target belongs to one of the crates or their companions, such as `hyper_util`.
fn is_below_exporter(target: &str) -> bool {
    let crate_name = target.split("::").next().unwrap_or_default();
    UNEXPORTED_CRATES.iter().any(|unexported| {
        crate_name.strip_prefix(unexported).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

#[cfg(test)]
mod tests;
