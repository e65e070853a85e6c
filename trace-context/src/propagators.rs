//! Which headers trace context is read from and written to: `OTEL_PROPAGATORS`.
//!
//! Unless somebody says otherwise, W3C Trace Context, Baggage and B3 are read, W3C and Baggage written: whatever the
//! services before speak is understood, and those behind get the standard. Once the variable is set, only what it names
//! is read and written. Of several formats in one message the first of W3C, single B3, many B3 counts.

use std::sync::OnceLock;

use crate::extraction::{BAGGAGE, Extraction, TRACEPARENT, TRACESTATE, TraceContext};

/// The process's, once telemetry is set up.
static IN_FORCE: OnceLock<Propagators> = OnceLock::new();

/// A choice of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagators {
    /// `traceparent` and `tracestate` are read and written.
    trace_context: bool,
    /// `baggage` is read and written.
    baggage: bool,
    /// B3 in both its forms is read.
    reads_b3: bool,
    /// The header `b3` is written.
    writes_b3: bool,
    /// The headers `X-B3-…` are written.
    writes_b3_multi: bool,
}

impl Propagators {
    /// Reads everything, writes W3C.
    pub const DEFAULT: Self =
        Self { trace_context: true, baggage: true, reads_b3: true, writes_b3: false, writes_b3_multi: false };

    /// Neither reads nor writes anything.
    pub const NONE: Self =
        Self { trace_context: false, baggage: false, reads_b3: false, writes_b3: false, writes_b3_multi: false };

    /// What the names of `OTEL_PROPAGATORS` stand for, and the names that stand for nothing here. `none` beside others
    /// adds nothing. Where no name is known it is [`Propagators::DEFAULT`].
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> (Self, Vec<&'a str>) {
        let (mut found, mut unknown, mut is_any_known) = (Self::NONE, Vec::new(), false);
        for name in names {
            match name {
                "tracecontext" => found.trace_context = true,
                "baggage" => found.baggage = true,
                "b3" => (found.reads_b3, found.writes_b3) = (true, true),
                "b3multi" => (found.reads_b3, found.writes_b3_multi) = (true, true),
                "none" => {}
                _ => {
                    unknown.push(name);
                    continue;
                }
            }
            is_any_known = true;
        }
        (if is_any_known { found } else { Self::DEFAULT }, unknown)
    }

    /// The process's choice: [`Propagators::DEFAULT`] until telemetry is set up.
    pub fn in_force() -> Self {
        IN_FORCE.get().copied().unwrap_or(Self::DEFAULT)
    }

    /// Makes this the process's choice; only the first call counts.
    pub(crate) fn put_in_force(self) {
        IN_FORCE.get_or_init(|| self);
    }

    /// [`TraceContext::extract`] from the formats chosen.
    pub fn extract<'a>(self, headers: impl IntoIterator<Item = (&'a str, Option<&'a [u8]>)>) -> Extraction {
        TraceContext::extract(headers.into_iter().filter(|(name, _)| self.is_read(name)))
    }

    /// [`TraceContext::inject`] in the formats chosen.
    pub fn inject(self, context: &TraceContext, mut set: impl FnMut(&'static str, &[u8])) {
        if self.trace_context || self.baggage {
            context.inject(|name, value| {
                let is_chosen = if name == BAGGAGE { self.baggage } else { self.trace_context };
                if is_chosen {
                    set(name, value);
                }
            });
        }
        if self.writes_b3 {
            set(crate::b3::B3_SINGLE, context.to_b3().as_bytes());
        }
        if self.writes_b3_multi {
            crate::b3::inject_multiple(&context.traceparent, set);
        }
    }

    /// What of a context that was read as W3C, as a bare `traceparent` is, may be used.
    pub(crate) fn reads_trace_context(self) -> bool {
        self.trace_context
    }

    fn is_read(self, name: &str) -> bool {
        if name.eq_ignore_ascii_case(TRACEPARENT) || name.eq_ignore_ascii_case(TRACESTATE) {
            self.trace_context
        } else if name.eq_ignore_ascii_case(BAGGAGE) {
            self.baggage
        } else {
            self.reads_b3
        }
    }
}

#[cfg(test)]
mod tests;
