//! Compaction of a partition, run by the maintenance thread.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Partition;
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
    /// [`CompactionError`]; the log is whole all the same.
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
        let mut swap_in = |group: CleanedGroup| {
            let mut state = self.state.lock();
            if state.closed.is_some() {
                return Err(CompactionError::Stopped);
            }
            state
                .log
                .swap_in(group, now_ms)
                .map_err(|error: LogError| CompactionError::Write { source: std::io::Error::other(error) })
        };
        let (end, statistics) = round.run(dedupe_buffer_bytes, &may_go_on, &mut swap_in)?;
        self.state.lock().log.cleaned_to(end);
        tracing::info!(
            topic = %self.topic, partition = self.index, cleaned_to = end, bytes_before = statistics.bytes_read,
            bytes_after = statistics.bytes_written, records_removed = statistics.records_removed, "compacted"
        );
        Ok(true)
    }
}
