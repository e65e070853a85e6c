//! The one task that knows when time is due, for all shards.
//!
//! It sleeps until the earliest deadline there is, or for ever. Heartbeats do not wake it: they only move deadlines
//! away, and what it wakes for too early it finds not to be due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::moment::MonotonicMs;
use super::GroupCoordinator;

/// `offsets.retention.check.interval.ms`, Kafka's default.
const RETENTION_CHECK_INTERVAL: Duration = Duration::from_secs(600);

/// The earliest deadline of all shards, and the bell for when it becomes earlier.
#[derive(Debug)]
pub(super) struct Alarm {
    at_ms: AtomicU64,
    rung: Notify,
}

impl Default for Alarm {
    fn default() -> Self {
        Self { at_ms: AtomicU64::new(u64::MAX), rung: Notify::new() }
    }
}

impl Alarm {
    /// There is something to do at `at`, if not before.
    pub(super) fn ring_at(&self, at: MonotonicMs) {
        if at.0 < self.at_ms.fetch_min(at.0, Ordering::AcqRel) {
            self.rung.notify_one();
        }
    }

    /// As [`Alarm::ring_at`], for the one who is awake anyway: a bell of its own would wake it again at once, for ever.
    fn set_at(&self, at: MonotonicMs) {
        self.at_ms.fetch_min(at.0, Ordering::AcqRel);
    }

    fn forget(&self) {
        self.at_ms.store(u64::MAX, Ordering::Release);
    }

    fn next(&self) -> Option<MonotonicMs> {
        Some(self.at_ms.load(Ordering::Acquire)).filter(|at_ms| *at_ms != u64::MAX).map(MonotonicMs)
    }
}

impl GroupCoordinator {
    /// Keeps time for all groups, until told to stop: the task the broker owns.
    pub(crate) async fn keep_time(self: Arc<Self>, stop: CancellationToken) {
        let mut retention_due = Instant::now() + RETENTION_CHECK_INTERVAL;
        loop {
            let is_retention_due = Instant::now() >= retention_due;
            if is_retention_due {
                retention_due = Instant::now() + RETENTION_CHECK_INTERVAL;
            }
            self.alarm.forget();
            for shard in self.shards.get().into_iter().flatten() {
                if let Some(wake_at) = shard.tick(is_retention_due) {
                    self.alarm.set_at(wake_at);
                }
            }
            let due = match self.alarm.next() {
                Some(at) => retention_due.min(self.clock.instant(at)),
                None => retention_due,
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(due) => {}
                () = self.alarm.rung.notified() => {}
            }
        }
    }
}
