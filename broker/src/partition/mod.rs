//! A partition: its log, its high watermark, and those who wait for either.
//!
//! Invariants: log start ≤ last stable ≤ high watermark ≤ log end. The high watermark is what fdatasync has
//! confirmed (or, with `log.durability=async`, what was written): no consumer reads, and no acks=all answer tells
//! of, what a power cut can take back. One lock orders everything; it is never held over a sync or a send.

mod administration;
mod error;
mod space;
mod sync_job;
#[cfg(test)]
mod tests;
pub(crate) mod validate;
mod waiters;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use pillion_wire::records::BatchHeader;

pub(crate) use error::AppendError;
pub(crate) use space::SpaceGuard;
pub(crate) use waiters::{Completion, HighWatermarkWatcher};

use crate::config::Durability;
use crate::disk::Disk;
use crate::log::{Appended, Log, LogError, LogPosition, LogSlice, ReadFrom, TimestampedOffset, Verdict};
use crate::sync::{DirtyBytes, SyncScheduler};
use waiters::{Ready, Waiters};

/// A write slower than this moves the partition's writes to a blocking thread for [`SLOW_FOR`].
const SLOW_WRITE: Duration = Duration::from_millis(5);
const SLOW_FOR: Duration = Duration::from_secs(1);
/// Bytes written with `log.durability=async` after which a sync is queued all the same, to bound dirty memory.
const ASYNC_SYNC_BYTES: u64 = 8 << 20;

/// What all partitions of a broker share.
pub(crate) struct PartitionShared {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) scheduler: SyncScheduler,
    pub(crate) dirty: DirtyBytes,
    pub(crate) space: SpaceGuard,
    pub(crate) durability: Durability,
    /// The epoch this start of the broker writes in.
    pub(crate) leader_epoch: i32,
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
}

struct State {
    log: Log,
    high_watermark: LogPosition,
    unsynced_bytes: u64,
    sync_queued: bool,
    /// Why nothing more is written here.
    closed: Option<AppendError>,
    waiters: Waiters,
}

/// Where a partition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionOffsets {
    pub(crate) log_start_offset: i64,
    /// Behind the last record of the last finished transaction; the high watermark while there are no transactions.
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
            unsynced_bytes: 0,
            sync_queued: false,
            closed: None,
            waiters: Waiters::default(),
        };
        let (slow_until, started) = (AtomicI64::new(0), Instant::now());
        Self { topic, index, internal, shared, state: Mutex::new(state), slow_until, started }
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

    /// Appends a validated batch. The bytes are in the page cache when this returns; a sync is queued.
    ///
    /// A batch that is there already answers with its first place.
    ///
    /// # Errors
    /// [`AppendError`]; nothing was appended then.
    pub(crate) fn append(self: &Arc<Self>, batch: &Bytes, header: BatchHeader) -> Result<Appended, AppendError> {
        if !self.internal && self.shared.space.is_low(&*self.shared.disk) {
            return Err(AppendError::OutOfSpace);
        }
        let mut state = self.state.lock();
        if let Some(reason) = &state.closed {
            return Err(reason.clone());
        }
        if let Verdict::Duplicate { base_offset, last_offset } = state.log.producers().check(&header)? {
            return Ok(Appended { base_offset, next_offset: last_offset + 1 });
        }
        let began = Instant::now();
        let appended = state.log.append(batch, header, self.shared.leader_epoch)?;
        if began.elapsed() > SLOW_WRITE {
            let until = self.nanoseconds() + SLOW_FOR.as_nanos() as i64;
            self.slow_until.store(until, Ordering::Relaxed);
        }
        let size = batch.len() as u64;
        state.unsynced_bytes += size;
        self.shared.dirty.add(size);
        let (ready, wants_sync) = match self.shared.durability {
            Durability::Sync => (Ready::default(), true),
            Durability::Async => {
                let end = state.log.end();
                (state.advance(end), state.unsynced_bytes >= ASYNC_SYNC_BYTES)
            }
        };
        let schedule = wants_sync && !state.sync_queued;
        state.sync_queued |= wants_sync;
        drop(state);
        if schedule {
            self.shared.scheduler.schedule(Arc::clone(self) as Arc<dyn crate::sync::SyncJob>);
        }
        ready.run();
        Ok(appended)
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

    /// Where the partition stands.
    pub(crate) fn offsets(&self) -> PartitionOffsets {
        let state = self.state.lock();
        PartitionOffsets {
            log_start_offset: state.log.log_start_offset(),
            last_stable_offset: state.high_watermark.offset,
            high_watermark: state.high_watermark.offset,
            log_end_offset: state.log.next_offset(),
        }
    }

    /// The bytes that answer a fetch at `offset`: below the high watermark, as [`Log::read`].
    ///
    /// # Errors
    /// As [`Log::read`].
    pub(crate) fn read(&self, offset: i64, bytes_max: usize, from: ReadFrom) -> Result<Option<LogSlice>, LogError> {
        let state = self.state.lock();
        state.log.read(offset, state.high_watermark, bytes_max, from)
    }

    /// Epoch of the last batch; −1 when the partition is empty.
    pub(crate) fn latest_epoch(&self) -> i32 {
        self.state.lock().log.latest_epoch()
    }

    /// Epoch of the record at `offset`.
    pub(crate) fn epoch_at(&self, offset: i64) -> i32 {
        self.state.lock().log.epoch_at(offset)
    }

    /// As [`Log::end_of_epoch`].
    pub(crate) fn end_of_epoch(&self, epoch: i32) -> Option<(i32, i64)> {
        self.state.lock().log.end_of_epoch(epoch)
    }

    /// The first record below the high watermark with a timestamp of at least `timestamp`. May wait for the disk.
    ///
    /// # Errors
    /// As [`Log::first_at_or_after`].
    pub(crate) fn first_at_or_after(&self, timestamp: i64) -> Result<Option<TimestampedOffset>, LogError> {
        let state = self.state.lock();
        state.log.first_at_or_after(timestamp, state.high_watermark.offset)
    }

    /// The first record below the high watermark with the largest timestamp. May wait for the disk.
    ///
    /// # Errors
    /// As [`Log::with_max_timestamp`].
    pub(crate) fn with_max_timestamp(&self) -> Result<Option<TimestampedOffset>, LogError> {
        let state = self.state.lock();
        state.log.with_max_timestamp(state.high_watermark.offset)
    }

    /// Ends the partition, whose topic is being deleted: waiting answers fail, watchers are told.
    pub(crate) fn delete(&self) {
        let (ready, unsynced_bytes) = {
            let mut state = self.state.lock();
            (state.end(AppendError::Deleted), std::mem::take(&mut state.unsynced_bytes))
        };
        self.shared.dirty.remove(unsynced_bytes);
        ready.run();
    }

    /// Syncs and trims the log for a clean stop; false when it is offline and the next start must recover it. Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn close(&self) -> Result<bool, LogError> {
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return Ok(false);
        }
        state.log.close()?;
        let end = state.log.end();
        let ready = state.advance(end);
        drop(state);
        ready.run();
        Ok(true)
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
        self.waiters.up_to(to.offset)
    }

    fn end(&mut self, reason: AppendError) -> Ready {
        self.closed = Some(reason.clone());
        self.waiters.all_failed(reason)
    }
}
