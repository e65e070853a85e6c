//! A trace context as it travels with a message: record headers, HTTP headers or the keys of a Properties text.
//!
//! Reading: the last header of a name wins, names match in any case. A valid `traceparent` comes first, then B3. A bad
//! `tracestate` or `baggage` is left out and never spoils the `traceparent`; without a valid `traceparent` a
//! `tracestate` means nothing and is not looked at.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt};

use crate::b3::{self, B3_FLAGS, B3_SAMPLED, B3_SINGLE, B3_SPAN_ID, B3_TRACE_ID, B3Fields};
use crate::traceparent::TraceParent;
use crate::tracestate::TraceState;

/// Name of the record or HTTP header that names trace and parent span.
pub const TRACEPARENT: &str = "traceparent";
/// Name of the record or HTTP header that carries tracing systems' own state.
pub const TRACESTATE: &str = "tracestate";
/// Name of the record or HTTP header that carries the application's own key-value pairs.
pub const BAGGAGE: &str = "baggage";
/// Longest baggage carried, in bytes (W3C Baggage, 3.3.2). A longer one is dropped, not cut.
pub const MAX_BAGGAGE_BYTES: usize = 8192;

/// What travels with a message so that the next service's spans join the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// Trace and parent span.
    pub traceparent: TraceParent,
    /// State of tracing systems on the way.
    pub tracestate: Option<TraceState>,
    /// W3C Baggage as it came, at most [`MAX_BAGGAGE_BYTES`], without control characters, never empty.
    pub baggage: Option<String>,
}

/// What a carrier says about the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extraction {
    /// A trace to join.
    Found(TraceContext),
    /// No trace, and the wish that none be recorded (B3's lone `0`): start no sampled span for this message.
    Denied,
    /// Nothing, or nothing valid: a span started for this message is a root.
    Absent,
}

impl Extraction {
    /// The trace to join, if there is one.
    pub fn into_context(self) -> Option<TraceContext> {
        match self {
            Self::Found(context) => Some(context),
            Self::Denied | Self::Absent => None,
        }
    }
}

/// The last value of each name we know; empty where there was none.
#[derive(Default)]
struct Fields<'a> {
    traceparent: &'a [u8],
    tracestate: &'a [u8],
    baggage: &'a [u8],
    b3: B3Fields<'a>,
}

impl<'a> Fields<'a> {
    fn slot(&mut self, name: &str) -> Option<&mut &'a [u8]> {
        let slots = [
            (TRACEPARENT, &mut self.traceparent),
            (TRACESTATE, &mut self.tracestate),
            (BAGGAGE, &mut self.baggage),
            (B3_SINGLE, &mut self.b3.single),
            (B3_TRACE_ID, &mut self.b3.trace_id),
            (B3_SPAN_ID, &mut self.b3.span_id),
            (B3_SAMPLED, &mut self.b3.sampled),
            (B3_FLAGS, &mut self.b3.flags),
        ];
        slots.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, slot)| slot)
    }
}

impl TraceContext {
    /// Reads the context from headers in the order in which they were sent. A header without a value counts as the
    /// last of its name and says nothing.
    pub fn extract<'a>(headers: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Extraction {
        let mut fields = Fields::default();
        for (name, value) in headers {
            if let Some(slot) = fields.slot(name) {
                *slot = value.unwrap_or_default();
            }
        }
        let mut extraction = match TraceParent::parse(fields.traceparent) {
            Ok(traceparent) => Extraction::Found(Self {
                traceparent,
                tracestate: std::str::from_utf8(fields.tracestate).ok().and_then(|text| TraceState::parse(text).ok()),
                baggage: None,
            }),
            Err(_) => b3::extract(&fields.b3),
        };
        if let Extraction::Found(context) = &mut extraction {
            context.baggage = valid_baggage(fields.baggage);
        }
        extraction
    }

    /// [`TraceContext::extract`] for those who treat a refusal like nothing.
    pub fn from_headers<'a>(headers: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Option<Self> {
        Self::extract(headers).into_context()
    }

    /// Calls `set` with the name and value of each header to send. Whoever writes them into existing headers replaces
    /// those of the same name.
    pub fn inject(&self, mut set: impl FnMut(&'static str, &[u8])) {
        set(TRACEPARENT, &self.traceparent.to_bytes());
        if let Some(tracestate) = &self.tracestate {
            set(TRACESTATE, tracestate.as_str().as_bytes());
        }
        if let Some(baggage) = &self.baggage {
            set(BAGGAGE, baggage.as_bytes());
        }
    }

    /// The value of a `b3` header, for consumers that read nothing else.
    pub fn to_b3(&self) -> String {
        b3::format_single(&self.traceparent)
    }

    /// The same in OpenTelemetry's terms: a remote parent.
    pub fn to_span_context(&self) -> SpanContext {
        let trace_state = self.tracestate.as_ref().map(TraceState::to_opentelemetry).unwrap_or_default();
        self.traceparent.to_span_context_with(trace_state)
    }

    /// The span of an OpenTelemetry context without baggage, or `None` if that has no valid ids.
    pub fn from_span_context(context: &SpanContext) -> Option<Self> {
        Some(Self {
            traceparent: TraceParent::from_span_context(context)?,
            tracestate: TraceState::from_opentelemetry(context.trace_state()),
            baggage: None,
        })
    }

    /// A context to start spans in: children of this one. Baggage does not go along; it stays in the headers.
    pub fn to_opentelemetry(&self) -> Context {
        Context::new().with_remote_span_context(self.to_span_context())
    }

    /// The active span of `context` without baggage, or `None` if it has none with valid ids.
    pub fn from_opentelemetry(context: &Context) -> Option<Self> {
        Self::from_span_context(context.span().span_context())
    }

    /// What to send once `span` has been started as a child of this context: the span's ids and state, and this
    /// context's baggage. A span without valid ids (telemetry is shut down) changes nothing, so that the trace is
    /// carried on.
    pub fn continued_by(&self, span: &SpanContext) -> Self {
        match Self::from_span_context(span) {
            Some(child) => Self { baggage: self.baggage.clone(), ..child },
            None => self.clone(),
        }
    }
}

impl From<TraceParent> for TraceContext {
    fn from(traceparent: TraceParent) -> Self {
        Self { traceparent, tracestate: None, baggage: None }
    }
}

/// The baggage as text if it may be sent on: not empty, not too long, no control characters that would end a header.
fn valid_baggage(value: &[u8]) -> Option<String> {
    if value.len() > MAX_BAGGAGE_BYTES {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    let is_clean = !text.chars().any(|character| character.is_control() && character != '\t');
    (!text.is_empty() && is_clean).then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
