//! Durations by how long they were.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds: from what a request in memory takes to what a client gives up after.
const BOUNDS_MICROS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// Counts durations in buckets, the last of which has no bound.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS_MICROS.len() + 1],
    sum_micros: AtomicU64,
}

/// One look at durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistogramSnapshot {
    /// For each bucket its upper bound in seconds (the last one's is infinite), and how many fell into it and into none
    /// before it.
    pub buckets: Vec<(f64, u64)>,
    /// How long all of them took together, in seconds.
    pub sum_seconds: f64,
}

impl Histogram {
    /// Counts one.
    pub(crate) fn observe(&self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_MICROS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> HistogramSnapshot {
        let bounds = BOUNDS_MICROS.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
        let counts = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed));
        let sum_seconds = self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6;
        HistogramSnapshot { buckets: bounds.zip(counts).collect(), sum_seconds }
    }
}

impl HistogramSnapshot {
    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }
}
