//! What is done to a partition from time to time: checkpoints, retention, deletion of records, other settings.

use std::io;
use std::sync::Arc;

use super::{AppendError, Partition};
use crate::log::{Due, LogConfig, LogError};
use crate::sync::SyncJob;

/// Bytes behind the recovery point that a start may have to look at: fewer are not worth a checkpoint. Ten thousand
/// partitions with as many each are read in about a second on two cores.
const UNCHECKED_BYTES: u64 = 256 * 1024;

/// What of a partition is written down in the data directory's checkpoint files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartitionCheckpoint {
    /// Everything below it is on disk with its indexes.
    pub(crate) recovery_point: i64,
    /// The first offset there is, where that is not just the first segment's.
    pub(crate) log_start_offset: Option<i64>,
    /// Everything below it was compacted, where that is known.
    pub(crate) cleaned_to: Option<i64>,
}

impl Partition {
    /// What the checkpoint files are to say; of a partition that is offline, what they said.
    pub(crate) fn checkpoint(&self) -> PartitionCheckpoint {
        let state = self.state.lock();
        if let Some(offline) = &state.unreadable {
            return offline.checkpoint;
        }
        let (planned, moved) = (state.planned_start, state.log.moved_start());
        PartitionCheckpoint {
            recovery_point: state.log.recovery_point(),
            log_start_offset: planned.map_or(moved, |planned| Some(planned.max(state.log.log_start_offset()))),
            cleaned_to: state.log.cleaning_checkpoint(),
        }
    }

    /// Takes note that the checkpoint files say this, durably.
    pub(crate) fn checkpoint_written(&self, checkpoint: &PartitionCheckpoint) {
        self.state.lock().log.recovery_point_written(checkpoint.recovery_point);
    }

    /// Writes index entries, producers and leader epochs down when a start would have much to look at. The recovery
    /// point moves with the next sync. Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn write_checkpoint(self: &Arc<Self>) -> Result<(), LogError> {
        let unsaved = {
            let state = self.state.lock();
            let is_due = state.log.bytes_unchecked() >= UNCHECKED_BYTES || state.log.waits_for_epochs();
            if state.closed.is_some() || !is_due {
                return Ok(());
            }
            state.log.unsaved_epochs()
        };
        if let Some(unsaved) = unsaved {
            let saved = unsaved.save(self.shared.disk());
            let mut state = self.state.lock();
            match saved {
                Ok(()) => state.log.epochs_saved(&unsaved),
                // The topic may just have been deleted.
                Err(_) if state.closed.is_some() => return Ok(()),
                Err(source) => return Err(LogError::Io { path: state.log.directory().to_owned(), source }),
            }
        }
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return Ok(());
        }
        if state.log.bytes_unchecked() >= UNCHECKED_BYTES {
            state.log.prepare_checkpoint()?;
        }
        if !state.log.awaits_sync() {
            return Ok(());
        }
        let schedule = !state.sync_queued;
        state.sync_queued = true;
        drop(state);
        if schedule {
            self.shared.scheduler.schedule(Arc::clone(self) as Arc<dyn SyncJob>);
        }
        Ok(())
    }

    /// Forgets producers that have been silent for `expiration_ms`, and removes files deleted long enough ago.
    pub(crate) fn expire(&self, now_ms: i64, expiration_ms: i64) {
        let due = {
            let mut state = self.state.lock();
            state.log.expire_producers(now_ms, expiration_ms);
            state.log.take_due(now_ms)
        };
        // What cannot be removed now is tried again in the next round.
        let _ = self.remove(due);
    }

    /// Removes files deleted long enough ago. Blocks, without holding the partition.
    fn remove(&self, mut due: Due) -> io::Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        let removed = due.remove(self.shared.disk());
        self.state.lock().log.put_back(due);
        removed
    }

    /// Queues a sync when `flush.ms` says that it is time.
    pub(crate) fn flush_when_due(self: &Arc<Self>, now_ms: i64) {
        let mut state = self.state.lock();
        let is_due = state.closed.is_none() && state.unsynced_bytes > 0 && state.is_sync_due(now_ms);
        if !is_due || state.sync_queued {
            return;
        }
        state.sync_queued = true;
        drop(state);
        self.shared.scheduler.schedule(Arc::clone(self) as Arc<dyn SyncJob>);
    }

    /// Moves the log's start to where retention wants it; whether segments are to go. The caller writes the new start
    /// down durably before [`Partition::remove_segments`].
    pub(crate) fn apply_retention(&self, now_ms: i64) -> bool {
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return false;
        }
        let start = state.log.retained_from(state.high_watermark.offset, now_ms);
        state.log.advance_log_start(start);
        state.log.has_segments_below_start()
    }

    /// Deletes the segments below the log's start, and files deleted long enough ago. Blocks, and holds the partition
    /// for some renames at a time.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn remove_segments(&self, now_ms: i64) -> Result<usize, LogError> {
        let mut removed = 0;
        let (directory, removals) = loop {
            let mut state = self.state.lock();
            if state.closed.is_some() {
                return Ok(removed);
            }
            match state.log.take_out_segments_below_start(now_ms)? {
                0 => break (state.log.directory().to_owned(), state.log.removals()),
                some => removed += some,
            }
        };
        let failed = |source| LogError::Io { path: directory.clone(), source };
        if removed > 0 {
            let synced = self.shared.disk().sync_directory(&directory);
            let mut state = self.state.lock();
            match synced {
                Ok(()) => state.log.removals_are_durable(removals),
                // The topic may just have been deleted.
                Err(_) if state.closed.is_some() => return Ok(removed),
                Err(source) => return Err(failed(source)),
            }
        }
        let due = self.state.lock().log.take_due(now_ms);
        self.remove(due).map_err(failed)?;
        Ok(removed)
    }

    /// Plans to have the log start at `offset`, −1 for the high watermark; answers where it will start. From now on
    /// [`Partition::checkpoint`] says so. Readers see it with [`Partition::end_plan`], once that is durable.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] beyond the high watermark, [`LogError::Offline`], [`LogError::Deleted`].
    pub(crate) fn plan_start(&self, offset: i64) -> Result<i64, LogError> {
        let mut state = self.state.lock();
        match &state.closed {
            Some(AppendError::Deleted) => return Err(LogError::Deleted),
            Some(reason) => return Err(LogError::Offline(reason.to_string())),
            None => {}
        }
        let high_watermark = state.high_watermark.offset;
        let offset = if offset == -1 { high_watermark } else { offset };
        if !(0..=high_watermark).contains(&offset) {
            let log_start_offset = state.log.log_start_offset();
            return Err(LogError::OffsetOutOfRange { offset, log_start_offset, next_offset: high_watermark });
        }
        let held = state.log.log_start_offset();
        let planned = offset.max(state.planned_start.unwrap_or(held));
        if planned > held {
            state.planned_start = Some(planned);
        }
        Ok(planned.max(held))
    }

    /// Ends what [`Partition::plan_start`] planned: the log starts there if that was written down durably, and else where
    /// it did.
    pub(crate) fn end_plan(&self, is_durable: bool) {
        let mut state = self.state.lock();
        if let Some(planned) = state.planned_start.take().filter(|_| is_durable) {
            state.log.advance_log_start(planned);
        }
    }

    /// Sets other settings, which hold from the next append on.
    pub(crate) fn configure(&self, config: Arc<LogConfig>) {
        self.state.lock().log.configure(config);
    }
}
