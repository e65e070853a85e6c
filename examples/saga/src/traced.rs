//! Errors in a trace: a step that fails has a red span, with the error's text as its exception.

use opentelemetry::KeyValue;
use opentelemetry::trace::Status;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Lets a fallible future run in a span of its own.
pub trait Traced<T, E>: Future<Output = Result<T, E>> + Sized
where
    E: Into<anyhow::Error>,
{
    /// Runs in `span`; an error marks it red and is recorded as its exception. Logging is left to whoever handles it.
    fn traced(self, span: Span) -> impl Future<Output = anyhow::Result<T>> {
        async move {
            let outcome = self.await.map_err(Into::into);
            if let Err(error) = &outcome {
                record_exception(&Span::current(), error);
            }
            outcome
        }
        .instrument(span)
    }
}

impl<F, T, E> Traced<T, E> for F
where
    F: Future<Output = Result<T, E>>,
    E: Into<anyhow::Error>,
{
}

/// Marks a span red, with the error's text as its exception.
pub fn record_exception(span: &Span, error: &anyhow::Error) {
    let message = format!("{error:#}");
    span.add_event("exception", vec![KeyValue::new("exception.message", message.clone())]);
    span.set_status(Status::error(message));
}
