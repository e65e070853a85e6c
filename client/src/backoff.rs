//! How long to wait before the next attempt: doubling, bounded, jittered. Pure: randomness is an argument.

use std::time::Duration;

/// Share by which a delay is moved either way, so that clients do not return in step.
const JITTER: f64 = 0.2;
/// Doublings beyond this pass any sensible maximum; it keeps the shift in range.
const DOUBLINGS_MAX: u32 = 20;

/// A delay's first value and bound (`retry.backoff.ms`, `retry.backoff.max.ms`; KIP-580).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// After the first failure.
    pub(crate) first: Duration,
    /// Never longer than this, jitter apart.
    pub(crate) max: Duration,
}

impl Backoff {
    /// The delay after `failures` failures in a row (0 gives none); `random` lies in 0..1.
    pub(crate) fn delay(&self, failures: u32, random: f64) -> Duration {
        if failures == 0 {
            return Duration::ZERO;
        }
        let doubled = self.first.saturating_mul(1 << (failures - 1).min(DOUBLINGS_MAX));
        doubled.min(self.max).mul_f64(1.0 - JITTER + 2.0 * JITTER * random.clamp(0.0, 1.0))
    }

    /// The delay after `failures` failures, with the thread's randomness.
    pub(crate) fn jittered(&self, failures: u32) -> Duration {
        self.delay(failures, rand::random())
    }
}

#[cfg(test)]
mod tests;
