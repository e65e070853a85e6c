//! Compaction of a partition, run by the maintenance thread.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::MutexGuard;

use super::{Partition, State};
use crate::log::compaction::CompactionError;
use crate::log::compaction::plan::Cleanable;
use crate::log::{CleanedGroup, LogError};

impl Partition {
    /// What can be compacted now, where it is time to.
    pub(crate) fn cleanable(&self, now_ms: i64) -> Option<Cleanable> {
        let state = self.state.lock();
        if state.closed.is_some() {
            return None;
        }
        state.log.cleanable(state.high_watermark.offset, now_ms)
    }

    /// Compacts what is due, with a key map of at most `dedupe_buffer_bytes`; whether anything was done. Blocks, but
    /// holds the partition for some renames only.
    ///
    /// # Errors
    /// [`CompactionError`]; the log is whole all the same. [`CompactionError::Stopped`] also when retention was quicker:
    /// the next round does without what it deleted.
    pub(crate) fn compact(
        &self,
        dedupe_buffer_bytes: usize,
        now_ms: i64,
        stopping: &AtomicBool,
    ) -> Result<bool, CompactionError> {
        let round = {
            let state = self.state.lock();
            if state.closed.is_some() {
                return Ok(false);
            }
            state.log.begin_round(state.high_watermark.offset, now_ms)
        };
        let Some(round) = round else { return Ok(false) };
        let may_go_on = || !stopping.load(Ordering::Relaxed) && self.state.lock().closed.is_none();
        let mut swap_in = |group: &CleanedGroup| self.swap_in(group, now_ms);
        let (end, statistics) = round.run(dedupe_buffer_bytes, &may_go_on, &mut swap_in)?;
        self.state.lock().log.cleaned_to(end);
        tracing::info!(
            topic = %self.topic, partition = self.index, cleaned_to = end, bytes_before = statistics.bytes_read,
            bytes_after = statistics.bytes_written, records_removed = statistics.records_removed, "compacted"
        );
        Ok(true)
    }

    /// Puts a cleaned group in its place; the partition is not held while names are synced. Blocks.
    fn swap_in(&self, group: &CleanedGroup, now_ms: i64) -> Result<bool, CompactionError> {
        let failed = |source| CompactionError::Write { source };
        let failed_log = |error: LogError| failed(std::io::Error::other(error));
        if !self.compacted()?.log.begin_swap(group) {
            return Ok(false);
        }
        let finish = || {
            group.note_down().or_else(|error| self.compacted().and(Err(failed(error))))?;
            self.compacted()?.log.finish_swap(group, now_ms).map_err(failed_log)?;
            group.strike_out().or_else(|error| self.compacted().and(Err(failed(error))))
        };
        let finished = finish();
        if matches!(finished, Err(CompactionError::Write { .. })) {
            self.go_offline("compacted segments were put in their place in part only; a restart finishes that");
        }
        finished.map(|()| true)
    }

    /// The state of a partition that is still there.
    fn compacted(&self) -> Result<MutexGuard<'_, State>, CompactionError> {
        let state = self.state.lock();
        if state.closed.is_some() { Err(CompactionError::Stopped) } else { Ok(state) }
    }
}
