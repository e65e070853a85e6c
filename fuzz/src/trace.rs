//! Trace context from record headers and from the column of an outbox row.

use pillion_trace_context::{TraceContext, TraceParent, TraceState, TracingSpanContext};

use crate::Target;
use crate::target::within;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

pub(crate) fn target() -> Target {
    let seeds = [
        PARENT.to_owned(),
        "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7".to_owned(),
        format!("#comment\ntraceparent={PARENT}\ntracestate\\: a=b,c=\\u0064\nb3=80f198ee56343ba864fe8b2a57d3eff7-1"),
        "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90".to_owned(),
    ];
    let seeds = seeds.into_iter().map(String::into_bytes).collect();
    Target { name: "trace-context".to_owned(), seeds, run: Box::new(run) }
}

fn run(bytes: &[u8]) {
    // Properties become keys and values of their own, at most all of the text; lists grow by doubling.
    let context = within(4096 + 64 * bytes.len(), "trace context", || {
        if let Ok(parent) = TraceParent::parse(bytes) {
            assert_eq!(TraceParent::parse(&parent.to_bytes()), Ok(parent));
        }
        let text = std::str::from_utf8(bytes).ok()?;
        if let Ok(state) = TraceState::parse(text) {
            assert_eq!(TraceState::parse(state.as_str()).as_ref(), Ok(&state));
        }
        TracingSpanContext::parse(text)
    });
    let _ = TraceContext::from_headers(["traceparent", "tracestate", "baggage", "b3"].map(|name| (name, Some(bytes))));
    if let Some(context) = context {
        assert_eq!(TracingSpanContext::parse(&TracingSpanContext::format(&context)), Some(context));
    }
}
