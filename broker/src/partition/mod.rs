//! A partition: its log, its high watermark, and those who wait for either.
//!
//! Invariants: log start ≤ last stable ≤ high watermark ≤ log end. The high watermark is what fdatasync has
//! confirmed (or, with `log.durability=async`, what was written): no consumer reads, and no acks=all answer tells
//! of, what a power cut can take back. One lock orders everything; it is never held over a sync or a send.

mod appending;
mod closing;
mod compaction;
mod error;
mod isolation;
mod measures;
mod offline;
mod reading;
mod space;
mod sync_job;
#[cfg(test)]
pub(crate) mod tests;
mod transactions;
mod upkeep;
pub(crate) mod validate;
mod waiters;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

pub(crate) use closing::ClosingSync;
pub(crate) use error::AppendError;
pub(crate) use isolation::Isolation;
pub(crate) use space::SpaceGuard;
pub(crate) use transactions::MarkerGuard;
pub(crate) use upkeep::PartitionCheckpoint;
pub(crate) use waiters::{Completion, HighWatermarkWatcher};

use crate::config::Durability;
use crate::disk::{Disk, OpenFiles};
use crate::log::{Log, LogPosition};
use crate::metrics::Metrics;
use crate::sync::{DirtyBytes, SyncScheduler};
use waiters::{Ready, Waiters};

/// A write slower than this moves the partition's writes to a blocking thread for [`SLOW_FOR`].
const SLOW_WRITE: Duration = Duration::from_millis(5);
const SLOW_FOR: Duration = Duration::from_secs(1);
/// Bytes written with `log.durability=async` after which a sync is queued all the same, to bound dirty memory.
const ASYNC_SYNC_BYTES: u64 = 8 << 20;

/// What all partitions of a broker share.
pub(crate) struct PartitionShared {
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) scheduler: SyncScheduler,
    pub(crate) dirty: DirtyBytes,
    pub(crate) space: SpaceGuard,
    pub(crate) durability: Durability,
    pub(crate) metrics: Arc<Metrics>,
    /// The epoch this start of the broker writes in.
    pub(crate) leader_epoch: i32,
}

impl PartitionShared {
    /// The disk all logs are on.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &**self.files.disk()
    }
}

/// A partition this broker leads.
pub(crate) struct Partition {
    topic: Arc<str>,
    index: i32,
    /// Internal topics may use the space that producers may not.
    internal: bool,
    shared: Arc<PartitionShared>,
    state: Mutex<State>,
    /// Monotonic nanoseconds since `started` until which writes are taken to be slow.
    slow_until: AtomicI64,
    started: Instant,
    /// Bytes sent to those who fetch.
    fetched_bytes: AtomicU64,
}

struct State {
    log: Log,
    high_watermark: LogPosition,
    /// What a sync has confirmed: with `log.durability=async` the high watermark may be ahead of it.
    durable_end: i64,
    unsynced_bytes: u64,
    unsynced_records: i64,
    /// When the oldest unsynced record was appended, milliseconds since 1970.
    unsynced_since_ms: i64,
    sync_queued: bool,
    /// Where the log is to start once that is written down durably, above where it does.
    planned_start: Option<i64>,
    /// Why nothing more is written here.
    closed: Option<AppendError>,
    /// Why nothing is read here.
    unreadable: Option<offline::Unreadable>,
    waiters: Waiters,
    /// Markers written here since the broker started.
    markers: u64,
    /// Records and bytes appended since then.
    appended_records: u64,
    appended_bytes: u64,
}

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionOffsets {
    pub(crate) log_start_offset: i64,
    /// The first record whose transaction has not ended, or the high watermark.
    pub(crate) last_stable_offset: i64,
    pub(crate) high_watermark: i64,
    pub(crate) log_end_offset: i64,
}

impl Partition {
    /// A partition over a recovered log, all of which is durable.
    pub(crate) fn new(topic: Arc<str>, index: i32, internal: bool, log: Log, shared: Arc<PartitionShared>) -> Self {
        let high_watermark = log.end();
        let state = State {
            log,
            high_watermark,
            durable_end: high_watermark.offset,
            unsynced_bytes: 0,
            unsynced_records: 0,
            unsynced_since_ms: i64::MAX,
            sync_queued: false,
            planned_start: None,
            closed: None,
            unreadable: None,
            waiters: Waiters::default(),
            markers: 0,
            appended_records: 0,
            appended_bytes: 0,
        };
        let (slow_until, started, fetched_bytes) = (AtomicI64::new(0), Instant::now(), AtomicU64::new(0));
        Self { topic, index, internal, shared, state: Mutex::new(state), slow_until, started, fetched_bytes }
    }

    /// Its topic's name.
    pub(crate) fn topic(&self) -> &Arc<str> {
        &self.topic
    }

    /// Its number.
    pub(crate) fn index(&self) -> i32 {
        self.index
    }

    /// Whether writes here have lately taken long, so that a worker had better not wait for one.
    pub(crate) fn is_slow(&self) -> bool {
        self.slow_until.load(Ordering::Relaxed) > self.nanoseconds()
    }

    fn open_state(&self) -> Result<MutexGuard<'_, State>, AppendError> {
        let state = self.state.lock();
        match &state.closed {
            Some(reason) => Err(reason.clone()),
            None => Ok(state),
        }
    }

    /// Calls `completion` once everything below `offset` is below the high watermark, or cannot be any more. It may
    /// be called before this returns, else on a sync thread.
    pub(crate) fn when_durable(&self, offset: i64, completion: Completion) {
        let mut state = self.state.lock();
        if state.high_watermark.offset >= offset {
            drop(state);
            completion(Ok(()));
        } else if let Some(reason) = state.closed.clone() {
            drop(state);
            completion(Err(reason));
        } else {
            state.waiters.await_offset(offset, completion);
        }
    }

    /// Registers a watcher to be told of each move of the high watermark until it is done.
    pub(crate) fn watch(&self, watcher: Arc<dyn HighWatermarkWatcher>) {
        self.state.lock().waiters.watch(watcher);
    }

    /// Whether nothing more is written here.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed.is_some()
    }

    /// Whether its topic was deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        matches!(self.state.lock().closed, Some(AppendError::Deleted))
    }

    /// Ends the partition, whose topic is being deleted: waiting answers fail, watchers are told.
    pub(crate) fn delete(&self) {
        let (ready, unsynced_bytes) = {
            let mut state = self.state.lock();
            state.log.forget_files();
            (state.end(AppendError::Deleted), std::mem::take(&mut state.unsynced_bytes))
        };
        self.shared.dirty.remove(unsynced_bytes);
        ready.run();
    }

    fn nanoseconds(&self) -> i64 {
        self.started.elapsed().as_nanos() as i64
    }
}

impl State {
    /// Moves the high watermark; answers who must be told.
    fn advance(&mut self, to: LogPosition) -> Ready {
        if to.offset <= self.high_watermark.offset {
            return Ready::default();
        }
        self.high_watermark = to;
        self.log.high_watermark_moved(to.offset);
        self.waiters.up_to(to.offset)
    }

    /// Whether what was written with `log.durability=async` is to be synced now.
    fn is_sync_due(&self, now_ms: i64) -> bool {
        let config = self.log.config();
        self.unsynced_bytes >= ASYNC_SYNC_BYTES
            || self.unsynced_records >= config.flush_messages
            || now_ms.saturating_sub(self.unsynced_since_ms) >= config.flush_ms
    }

    fn last_stable_offset(&self) -> i64 {
        let high_watermark = self.high_watermark.offset;
        self.log.first_unstable_offset().map_or(high_watermark, |unstable| unstable.min(high_watermark))
    }

    /// Notes down that a sync failed, for the next start: the page cache is no evidence of what is on disk.
    fn note_sync_failure(&self) {
        if let Err(error) = self.log.mark_sync_failed(self.durable_end) {
            tracing::error!(%error, "cannot note down up to where the log is durable");
        }
    }

    fn end(&mut self, reason: AppendError) -> Ready {
        self.closed = Some(reason.clone());
        self.waiters.all_failed(reason)
    }
}
