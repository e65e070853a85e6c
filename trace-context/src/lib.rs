//! Trace context and telemetry: how one request's trace survives the way through a database row, a log and a consumer.
//!
//! - [`TraceParent`], [`TraceState`], [`TraceContext`]: W3C Trace Context, read strictly and written back unchanged.
//! - [`TracingSpanContext`]: the text of an outbox row's `tracingspancontext` column.
//! - [`Propagators`]: which headers the context is read from and written to, as `OTEL_PROPAGATORS` asks.
//! - [`conventions`]: every span, attribute and metric name, in one place.
//! - [`telemetry`]: logs on standard error and spans by OTLP, as the `OTEL_*` environment asks.
//!
//! Invariant: bytes from outside never panic, and never choose the size of an allocation beyond a named limit.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod b3;
pub mod conventions;
mod extraction;
mod propagators;
mod properties;
pub mod telemetry;
mod traceparent;
mod tracestate;

pub use extraction::{BAGGAGE, Extraction, MAX_BAGGAGE_BYTES, TRACEPARENT, TRACESTATE, TraceContext};
pub use propagators::Propagators;
pub use properties::{MAX_PROPERTIES_BYTES, TracingSpanContext};
pub use traceparent::{InvalidTraceParent, SpanId, TRACEPARENT_LENGTH, TraceId, TraceParent};
pub use tracestate::{InvalidTraceState, MAX_TRACESTATE_BYTES, MAX_TRACESTATE_MEMBERS, TraceState};
