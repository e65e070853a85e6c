//! The text of `tracingspancontext`: the span of an OpenTelemetry context as Java `Properties`, one `name=value` a line.
//!
//! Invariant: no `traceparent` without valid ids, no empty `tracestate`, and Java's `Properties.load` reads it back.

use std::fmt::Write as _;

use opentelemetry::Context;
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::TraceContextExt as _;

/// Bytes of baggage that are sent (W3C Baggage, limits); more than that is left out, for a cut list would be a lie.
const BAGGAGE_BYTES_MAX: usize = 8192;

/// `traceparent`, `tracestate` and `baggage` of the active span; `None` if there is none with valid ids.
pub(crate) fn tracing_span_context(context: &Context) -> Option<String> {
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return None;
    }
    let flags = span.trace_flags().to_u8();
    let mut text = format!("traceparent=00-{}-{}-{flags:02x}", span.trace_id(), span.span_id());
    push_line(&mut text, "tracestate", &span.trace_state().header());
    let baggage = context.baggage().to_string();
    if baggage.len() <= BAGGAGE_BYTES_MAX {
        push_line(&mut text, "baggage", &baggage);
    }
    Some(text)
}

fn push_line(text: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    text.push('\n');
    text.push_str(name);
    text.push('=');
    for character in value.trim().chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            ' '..='~' => text.push(character),
            // As Java's Properties.store does.
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\\u{unit:04X}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
