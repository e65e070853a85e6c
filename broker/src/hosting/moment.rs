//! The two clocks a state machine is told about: one for deadlines, one for what is written down.
//!
//! Invariant: no state machine reads a clock; every event brings its `Moment`.

use std::time::Duration;

/// Milliseconds of the monotonic clock since some fixed start of this process. Deadlines are measured in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MonotonicMs(pub(crate) u64);

impl MonotonicMs {
    /// The instant `wait` after this one, in whole milliseconds; saturates at the end of time.
    pub(crate) fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// When an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// For session timeouts and rebalance deadlines.
    pub(crate) monotonic: MonotonicMs,
    /// Milliseconds since the Unix epoch, for the timestamps in records and for retention.
    pub(crate) wall_ms: i64,
}
