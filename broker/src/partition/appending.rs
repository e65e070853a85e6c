//! Appending to a partition: into the log, and on to the sync threads.
//!
//! Invariant: an append is followed by a sync, at once or, where nobody waits for it, with the next one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use parking_lot::MutexGuard;
use pillion_wire::records::BatchHeader;

use super::waiters::Ready;
use super::{AppendError, Partition, SLOW_FOR, SLOW_WRITE, State};
use crate::clock::now_ms;
use crate::config::Durability;
use crate::log::{Appended, Verdict};

/// When an append is to be synced.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hurry {
    /// Now: somebody waits for it.
    Now,
    /// With the next one that is in a hurry.
    WithNext,
}

impl Partition {
    /// Appends a validated batch. The bytes are in the page cache when this returns; a sync is queued.
    ///
    /// A batch that is there already answers with its first place.
    ///
    /// # Errors
    /// [`AppendError`]; nothing was appended then.
    pub(crate) fn append(self: &Arc<Self>, batch: &Bytes, header: BatchHeader) -> Result<Appended, AppendError> {
        self.append_if(batch, header, Hurry::Now, |_| Ok(()))
    }

    /// As [`Partition::append`], for a batch nobody waits for: no sync is queued for its sake.
    pub(crate) fn append_unhurried(
        self: &Arc<Self>,
        batch: &Bytes,
        header: BatchHeader,
    ) -> Result<Appended, AppendError> {
        self.append_if(batch, header, Hurry::WithNext, |_| Ok(()))
    }

    /// Queues a sync of what was appended, unless one is queued or nothing was.
    pub(crate) fn sync_soon(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.closed.is_none() && !state.sync_queued && state.log.next_offset() > state.durable_end {
            state.sync_queued = true;
            drop(state);
            self.shared.scheduler.schedule(Arc::clone(self) as Arc<dyn crate::sync::SyncJob>);
        }
    }

    /// As [`Partition::append`], if `is_allowed` lets the batch in once it is known not to be there already.
    pub(super) fn append_if(
        self: &Arc<Self>,
        batch: &Bytes,
        header: BatchHeader,
        hurry: Hurry,
        is_allowed: impl FnOnce(&State) -> Result<(), AppendError>,
    ) -> Result<Appended, AppendError> {
        if !self.internal && self.shared.space.is_low(self.shared.disk()) {
            return Err(AppendError::OutOfSpace);
        }
        let mut state = self.open_state()?;
        if let Verdict::Duplicate { base_offset, last_offset } = state.log.producers().check(&header)? {
            return Ok(Appended { base_offset, next_offset: last_offset + 1 });
        }
        is_allowed(&state)?;
        let (began, now_ms) = (Instant::now(), now_ms());
        let appended = state.log.append(batch, header, self.shared.leader_epoch, now_ms)?;
        // A slow disk stays slow; a write that was only interrupted is followed by quick ones.
        let slow_until = if began.elapsed() > SLOW_WRITE { self.nanoseconds() + SLOW_FOR.as_nanos() as i64 } else { 0 };
        self.slow_until.store(slow_until, Ordering::Relaxed);
        self.appended(state, batch.len() as u64, i64::from(header.record_count), now_ms, hurry);
        Ok(appended)
    }

    /// Sees to the sync of what was appended, and to those who wait for it.
    pub(super) fn appended(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        size: u64,
        records: i64,
        now_ms: i64,
        hurry: Hurry,
    ) {
        state.appended_records += records.unsigned_abs();
        state.appended_bytes += size;
        self.shared.metrics.appended_records.add(records.unsigned_abs());
        self.shared.metrics.appended_bytes.add(size);
        state.unsynced_bytes += size;
        state.unsynced_records += records;
        state.unsynced_since_ms = state.unsynced_since_ms.min(now_ms);
        self.shared.dirty.add(size);
        let (ready, wants_sync) = match self.shared.durability {
            Durability::Sync => (Ready::default(), matches!(hurry, Hurry::Now)),
            Durability::Async => {
                let end = state.log.end();
                // A roll is synced, as Kafka does, or a start would have to look through all of the segment.
                (state.advance(end), state.is_sync_due(now_ms) || state.log.awaits_sync())
            }
        };
        let schedule = wants_sync && !state.sync_queued;
        state.sync_queued |= wants_sync;
        drop(state);
        if schedule {
            self.shared.scheduler.schedule(Arc::clone(self) as Arc<dyn crate::sync::SyncJob>);
        }
        ready.run();
    }
}
