//! One log event as one line, with the trace it belongs to.
//!
//! ```text
//! 2025-06-04T10:11:12.345678Z  INFO [pillion,4bf92f…,00f067…] pillion_cdc::session: relay{topic=orders}: caught up lag=0
//! {"lag":0,"level":"INFO","message":"caught up","service":"pillion","span_id":"00f067…","spans":"relay{topic=orders}",
//!  "target":"pillion_cdc::session","timestamp":"…","trace_id":"4bf92f…"}   (on one line)
//! ```
//!
//! Lines of one place in the code that repeat too often are left out and counted (`repeats.rs`).
//!
//! `tracing-subscriber`'s own JSON has no trace ids. They are taken from the current OpenTelemetry context, so lines
//! inside spans made without `tracing` have them too.

use std::fmt::{self, Write as _};
use std::time::Instant;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::repeats::{Repeats, Verdict};
use super::settings::LogFormat;
use crate::traceparent::TraceParent;

/// Formats events for one service.
#[derive(Debug)]
pub(super) struct LogLine {
    service: String,
    format: LogFormat,
    repeats: Repeats,
}

impl LogLine {
    pub(super) fn new(service: &str, format: LogFormat) -> Self {
        Self { service: service.to_owned(), format, repeats: Repeats::default() }
    }
}

impl<S, N> FormatEvent<S, N> for LogLine
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        match self.verdict(event) {
            // A line without a byte is not written.
            Verdict::LeftOut => return Ok(()),
            Verdict::Shown { left_out: 0 } => {}
            Verdict::Shown { left_out } => self.write_left_out(&mut writer, event, left_out)?,
        }
        match self.format {
            LogFormat::Human => self.write_human(context, writer, event),
            LogFormat::Json => self.write_json(context, writer, event),
        }
    }
}

impl LogLine {
    /// Whoever asks for debug lines wants them all; lines of the `log` crate have no place of their own.
    fn verdict(&self, event: &Event<'_>) -> Verdict {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO || metadata.target() == "log" {
            return Verdict::Shown { left_out: 0 };
        }
        self.repeats.judge(metadata.callsite(), Instant::now())
    }

    fn write_left_out(&self, writer: &mut Writer<'_>, event: &Event<'_>, left_out: u64) -> fmt::Result {
        let (level, target) = (event.metadata().level(), event.metadata().target());
        match self.format {
            LogFormat::Human => {
                SystemTime.format_time(writer)?;
                write_level(writer, level)?;
                writeln!(writer, " [{},,] {target}: {left_out} lines like the next one were left out", self.service)
            }
            LogFormat::Json => {
                let mut timestamp = String::new();
                SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
                let line = serde_json::json!({
                    "timestamp": timestamp,
                    "level": level.to_string(),
                    "target": target,
                    "service": self.service,
                    "message": "lines like the next one were left out",
                    "left_out": left_out,
                });
                writeln!(writer, "{line}")
            }
        }
    }

    fn write_human<S, N>(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
        N: for<'writer> FormatFields<'writer> + 'static,
    {
        SystemTime.format_time(&mut writer)?;
        write_level(&mut writer, event.metadata().level())?;
        write!(writer, " [{},", self.service)?;
        match current_span() {
            Some(span) => write!(writer, "{},{}] ", span.trace_id, span.parent_id)?,
            None => writer.write_str(",] ")?,
        }
        write!(writer, "{}: ", target_of(event))?;
        let spans = spans_of(context)?;
        if !spans.is_empty() {
            write!(writer, "{spans}: ")?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }

    fn write_json<S, N>(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
        N: for<'writer> FormatFields<'writer> + 'static,
    {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let mut line = Map::new();
        let mut set = |key: &str, value: String| line.insert(key.to_owned(), Value::String(value));
        set("timestamp", timestamp);
        set("level", event.metadata().level().to_string());
        set("target", target_of(event));
        set("service", self.service.clone());
        if let Some(span) = current_span() {
            set("trace_id", span.trace_id.to_string());
            set("span_id", span.parent_id.to_string());
        }
        let spans = spans_of(context)?;
        if !spans.is_empty() {
            set("spans", spans);
        }
        event.record(&mut JsonFields { line: &mut line });
        writeln!(writer, "{}", Value::Object(line))
    }
}

fn write_level(writer: &mut Writer<'_>, level: &Level) -> fmt::Result {
    if !writer.has_ansi_escapes() {
        return write!(writer, " {level:>5}");
    }
    let colour = match *level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    };
    write!(writer, " \x1b[{colour}m{level:>5}\x1b[0m")
}

fn current_span() -> Option<TraceParent> {
    Context::map_current(|context| TraceParent::from_span_context(context.span().span_context()))
}

/// The open spans from the outermost, as `outer{fields}:inner`.
fn spans_of<S, N>(context: &FmtContext<'_, S, N>) -> Result<String, fmt::Error>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    let mut text = String::new();
    for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
        if !text.is_empty() {
            text.push(':');
        }
        text.push_str(span.name());
        if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
            write!(text, "{{{fields}}}")?;
        }
    }
    Ok(text)
}

/// The event's target; for one that came from the `log` crate, the one it had there.
fn target_of(event: &Event<'_>) -> String {
    let target = event.metadata().target();
    if target != "log" {
        return target.to_owned();
    }
    let mut visitor = LogTarget { target: None };
    event.record(&mut visitor);
    visitor.target.unwrap_or_else(|| target.to_owned())
}

struct LogTarget {
    target: Option<String>,
}

impl Visit for LogTarget {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "log.target" {
            self.target = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}

/// Puts an event's fields into a line. A field named like one of the line's own gets `fields.` before its name.
struct JsonFields<'a> {
    line: &'a mut Map<String, Value>,
}

impl JsonFields<'_> {
    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        // What the bridge from the `log` crate adds.
        if name.starts_with("log.") {
            return;
        }
        let key = if self.line.contains_key(name) { format!("fields.{name}") } else { name.to_owned() };
        self.line.insert(key, value);
    }
}

impl Visit for JsonFields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, Value::from(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        // Causes are told once each; a chain longer than this is a loop.
        for _ in 0..16 {
            let Some(cause) = source else { break };
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        self.set(field, Value::from(text));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, Value::from(format!("{value:?}")));
    }
}

#[cfg(test)]
mod tests;
