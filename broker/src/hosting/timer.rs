//! The one task that knows when time is due, for all shards of a topic.
//!
//! It sleeps until the earliest deadline there is, or for ever. Events that only move deadlines away do not wake it,
//! and what it wakes for too early it finds not to be due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::moment::{Moment, MonotonicMs};
use super::{Shard, Shards};

/// Both clocks, of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { started: Instant::now() }
    }

    pub(super) fn now(&self) -> Moment {
        let monotonic = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { monotonic: MonotonicMs(monotonic), wall_ms: crate::clock::now_ms() }
    }

    fn instant(&self, at: MonotonicMs) -> Instant {
        self.started + std::time::Duration::from_millis(at.0)
    }
}

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

impl<S: Shard> Shards<S> {
    /// Keeps time for all shards, until told to stop: the task the broker owns.
    pub(crate) async fn keep_time(self: Arc<Self>, stop: CancellationToken) {
        let mut look_due = Instant::now() + S::LOOK_THROUGH;
        loop {
            let is_look_due = Instant::now() >= look_due;
            if is_look_due {
                look_due = Instant::now() + S::LOOK_THROUGH;
            }
            self.alarm.forget();
            for shard in self.all() {
                if let Some(wake_at) = shard.tick(is_look_due) {
                    self.alarm.set_at(wake_at);
                }
            }
            let due = match self.alarm.next() {
                Some(at) => look_due.min(self.clock.instant(at)),
                None => look_due,
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(due) => {}
                () = self.alarm.rung.notified() => {}
            }
        }
    }
}
