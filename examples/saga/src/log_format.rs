//! Log lines that name the trace they belong to: `2026-01-02T03:04:05Z  INFO [order,<trace id>,<span id>] message`, or,
//! with `LOG_FORMAT=json`, an object a line with the same as fields.

use std::fmt;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// One line per event; the two ids stay empty outside of a span.
#[derive(Debug)]
pub struct LogFormat {
    service: String,
    is_json: bool,
}

impl LogFormat {
    /// Lines that begin with this service's name, or objects.
    pub fn new(service: String, is_json: bool) -> LogFormat {
        LogFormat { service, is_json }
    }

    fn json(&self, writer: &mut Writer<'_>, event: &Event<'_>, trace_id: String, span_id: String) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let known = [
            ("timestamp", time),
            ("level", event.metadata().level().to_string()),
            ("service", self.service.clone()),
            ("traceId", trace_id),
            ("spanId", span_id),
        ];
        fields.0.extend(known.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))));
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}

impl<S, N> FormatEvent<S, N> for LogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        // Entering a `tracing` span makes its OpenTelemetry context the current one.
        let current = Context::current();
        let span = current.span().span_context().clone();
        let (trace_id, span_id) = match span.is_valid() {
            true => (span.trace_id().to_string(), span.span_id().to_string()),
            false => (String::new(), String::new()),
        };
        if self.is_json {
            return self.json(&mut writer, event, trace_id, span_id);
        }
        SystemTime.format_time(&mut writer)?;
        write!(writer, " {:>5} [{},{trace_id},{span_id}] ", event.metadata().level(), self.service)?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// An event's fields, `message` among them.
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), Value::String(value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), Value::String(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests;
