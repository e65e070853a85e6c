//! Log lines that name the trace they belong to: `2026-01-02T03:04:05Z  INFO [order,<trace id>,<span id>] message`.

use std::fmt;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// One line per event; the two ids stay empty outside of a span.
#[derive(Debug)]
pub struct LogFormat {
    service: String,
}

impl LogFormat {
    /// Lines that begin with this service's name.
    pub fn new(service: String) -> LogFormat {
        LogFormat { service }
    }
}

impl<S, N> FormatEvent<S, N> for LogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        write!(writer, " {:>5} [{},", event.metadata().level(), self.service)?;
        // Entering a `tracing` span makes its OpenTelemetry context the current one.
        let current = Context::current();
        let span = current.span().span_context().clone();
        if span.is_valid() {
            write!(writer, "{},{}", span.trace_id(), span.span_id())?;
        } else {
            writer.write_char(',')?;
        }
        writer.write_str("] ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
