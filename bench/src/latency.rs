//! Durations of single requests, and what is said of them: median, 99th percentile, worst.

use std::time::Duration;

/// Durations in the order they were measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    /// Adds one.
    pub(crate) fn record(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// Adds all of another's.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The median, the 99th percentile and the worst; zeroes when nothing was measured.
    pub(crate) fn summary(mut self) -> Summary {
        self.0.sort_unstable();
        let microseconds = |part| percentile(&self.0, part).unwrap_or_default().as_secs_f64() * 1e6;
        Summary { p50_us: microseconds(0.5), p99_us: microseconds(0.99), max_us: microseconds(1.0) }
    }
}

/// What is said of many durations, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    /// The median.
    pub(crate) p50_us: f64,
    /// The 99th percentile.
    pub(crate) p99_us: f64,
    /// The worst.
    pub(crate) max_us: f64,
}

/// The smallest value that at least `part` (0 to 1) of the sorted values do not exceed (nearest rank).
pub(crate) fn percentile<T: Copy>(sorted: &[T], part: f64) -> Option<T> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The middle value, or the mean of the two in the middle; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => sorted.get(middle).copied(),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests;
