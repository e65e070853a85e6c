//! The bounded queue between the program, which ends spans, and the export thread, which sends them.
//!
//! Waking another thread costs tens of microseconds: an ended span is only pushed, and the export thread is woken when
//! a whole batch waits, else it looks by itself every `schedule_delay`. Our own queue, because the SDK's tells nobody
//! how many spans it dropped. Invariant: every span pushed is at last counted once, as exported or as dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use opentelemetry_sdk::trace::SpanData;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// What has become of the ended, sampled spans so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// Taken by the collector.
    pub exported: u64,
    /// Lost: the queue was full, the collector did not take them, or telemetry was shut down.
    pub dropped: u64,
}

/// Spans that wait for the export thread, and the signals it listens to.
#[derive(Debug)]
pub(super) struct SpanQueue {
    capacity: usize,
    batch_size: usize,
    waiting: Mutex<Waiting>,
    /// A batch is full, or someone waits for a flush.
    wake: Notify,
    /// Set once, at shutdown: until when spans may still be sent.
    stop_by: watch::Sender<Option<Instant>>,
    exported: AtomicU64,
    dropped: AtomicU64,
    has_overflowed: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: VecDeque<SpanData>,
    /// Answered once the spans before them have been sent or dropped.
    flushes: Vec<SyncSender<()>>,
    is_closed: bool,
}

impl SpanQueue {
    pub(super) fn new(capacity: usize, batch_size: usize) -> Self {
        Self {
            capacity,
            batch_size,
            waiting: Mutex::default(),
            wake: Notify::new(),
            stop_by: watch::Sender::new(None),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            has_overflowed: AtomicBool::new(false),
        }
    }

    /// Adds a span, or drops and counts it where the queue is full or closed. Never waits for the export.
    pub(super) fn push(&self, span: SpanData) {
        let mut waiting = self.waiting.lock();
        let is_full = waiting.spans.len() >= self.capacity;
        if is_full || waiting.is_closed {
            drop(waiting);
            self.has_overflowed.fetch_or(is_full, Ordering::Relaxed);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.spans.push_back(span);
        let is_batch_full = waiting.spans.len() == self.batch_size;
        drop(waiting);
        if is_batch_full {
            self.wake.notify_one();
        }
    }

    /// Asks the export thread to empty the queue; `done` is answered afterwards. False where it has ended.
    pub(super) fn request_flush(&self, done: SyncSender<()>) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return false;
        }
        waiting.flushes.push(done);
        drop(waiting);
        self.wake.notify_one();
        true
    }

    /// Takes no more spans and lets the export thread send what waits until `deadline`.
    pub(super) fn close(&self, deadline: Instant) {
        self.waiting.lock().is_closed = true;
        self.stop_by.send_replace(Some(deadline));
    }

    /// Waits until a batch is full or a flush is asked for. Cancel safe.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Waits until the queue is closed; the deadline then. Cancel safe.
    pub(super) async fn closed(&self) -> Instant {
        let mut stop_by = self.stop_by.subscribe();
        let stopped = stop_by.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline);
        stopped.expect("the sender lives as long as the queue, and the condition asks for a deadline")
    }

    pub(super) fn is_closed(&self) -> bool {
        self.stop_by.borrow().is_some()
    }

    pub(super) fn length(&self) -> usize {
        self.waiting.lock().spans.len()
    }

    /// The next spans to send, at most a batch, oldest first.
    pub(super) fn take_batch(&self) -> Vec<SpanData> {
        let mut waiting = self.waiting.lock();
        let count = waiting.spans.len().min(self.batch_size);
        waiting.spans.drain(..count).collect()
    }

    pub(super) fn take_flushes(&self) -> Vec<SyncSender<()>> {
        std::mem::take(&mut self.waiting.lock().flushes)
    }

    pub(super) fn count_exported(&self, spans: usize) {
        self.exported.fetch_add(spans as u64, Ordering::Relaxed);
    }

    pub(super) fn count_dropped(&self, spans: usize) {
        self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// Whether the queue was full at some time since this was last asked.
    pub(super) fn take_overflow(&self) -> bool {
        self.has_overflowed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> SpanCounts {
        SpanCounts { exported: self.exported.load(Ordering::Relaxed), dropped: self.dropped.load(Ordering::Relaxed) }
    }
}

#[cfg(test)]
mod tests;
