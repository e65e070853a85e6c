//! Reading a partition: what is in memory under its lock, what must come from the disk without.

use super::{AppendError, Isolation, Partition, PartitionOffsets, State};
use crate::log::{AbortedTransaction, LogError, LogPosition, LogSlice, LogView, ReadFrom, TimestampedOffset, Viewed};

/// Times that a reader looks again when segments are deleted or compacted under it.
const ATTEMPTS_MAX: usize = 100;

impl Partition {
    /// Where the partition stands.
    pub(crate) fn offsets(&self) -> PartitionOffsets {
        let state = self.state.lock();
        PartitionOffsets {
            log_start_offset: state.log.log_start_offset(),
            last_stable_offset: state.last_stable_offset(),
            high_watermark: state.high_watermark.offset,
            log_end_offset: state.log.next_offset(),
        }
    }

    /// Bytes of its batches.
    pub(crate) fn size(&self) -> u64 {
        self.state.lock().log.size()
    }

    /// The bytes that answer a fetch at `offset`: below the high watermark or the last stable offset, as
    /// [`crate::log::Log::read`]. From the disk it waits without holding the partition.
    ///
    /// # Errors
    /// As [`crate::log::Log::read`].
    pub(crate) fn read(
        &self,
        offset: i64,
        bytes_max: usize,
        from: ReadFrom,
        isolation: Isolation,
    ) -> Result<Option<LogSlice>, LogError> {
        if from == ReadFrom::Disk {
            return self.read_waiting(offset, bytes_max, isolation);
        }
        let state = self.readable()?;
        state.log.check_range(offset)?;
        let end = match state.unstable_from(isolation) {
            Some(unstable) => state.log.position_of(unstable, from)?,
            None => state.high_watermark,
        };
        state.log.read(offset, end, bytes_max, from)
    }

    fn read_waiting(&self, offset: i64, bytes_max: usize, isolation: Isolation) -> Result<Option<LogSlice>, LogError> {
        let mut at = offset;
        loop {
            let look = |state: &State| {
                let unstable = state.unstable_from(isolation);
                let unstable = unstable.map(|unstable| Ok((unstable, state.log.view(unstable)?))).transpose()?;
                Ok((state.log.view(at)?, (state.high_watermark, unstable)))
            };
            let find = |view: &LogView, (end, unstable): &(LogPosition, Option<(i64, LogView)>)| {
                let end = match unstable {
                    Some((unstable, view)) => view.position_of(*unstable)?.unwrap_or(*end),
                    None => *end,
                };
                view.read(at, end, bytes_max)
            };
            match self.look(look, find)? {
                Viewed::Found(slice) => return Ok(Some(slice)),
                Viewed::Nothing => return Ok(None),
                Viewed::GoOn(next) => at = next,
            }
        }
    }

    /// Takes a view with the partition held, and looks in it without; once more when segments were deleted or compacted
    /// under it.
    fn look<W, T>(
        &self,
        take: impl Fn(&State) -> Result<(LogView, W), LogError>,
        find: impl Fn(&LogView, &W) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut attempts = 0;
        loop {
            let (view, with) = take(&*self.readable()?)?;
            let found = find(&view, &with);
            let is_current = view.is_current(&self.state.lock().log);
            let is_missing = found.as_ref().is_err_and(LogError::is_missing_file);
            if is_current && !is_missing || attempts == ATTEMPTS_MAX {
                return found;
            }
            attempts += 1;
        }
    }

    /// The aborted transactions with records in the `bytes` bytes from `from` on, below `end`, and perhaps some behind
    /// them. May wait for the disk.
    ///
    /// # Errors
    /// [`LogError`].
    pub(crate) fn aborted_transactions(
        &self,
        from: i64,
        bytes: usize,
        end: i64,
    ) -> Result<Vec<AbortedTransaction>, LogError> {
        let find = |view: &LogView, (): &()| match view.tells_of_aborted() {
            true => view.aborted(from, view.offset_behind(from, bytes, end)?),
            false => Ok(Vec::new()),
        };
        self.look(|state| Ok((state.log.view_aborted(from), ())), find)
    }

    /// Whether [`Partition::aborted_transactions`] from `from` on would look into any file.
    pub(crate) fn tells_of_aborted(&self, from: i64) -> bool {
        self.state.lock().log.tells_of_aborted(from)
    }

    /// Whether `offset` is in a segment that nothing is appended to any more. A read of it ends with that segment.
    pub(crate) fn is_in_closed_segment(&self, offset: i64) -> bool {
        self.state.lock().log.is_in_closed_segment(offset)
    }

    /// Epoch of the last batch; −1 when the partition is empty.
    pub(crate) fn latest_epoch(&self) -> i32 {
        self.state.lock().log.latest_epoch()
    }

    /// Epoch of the record at `offset`.
    pub(crate) fn epoch_at(&self, offset: i64) -> i32 {
        self.state.lock().log.epoch_at(offset)
    }

    /// As [`crate::log::Log::end_of_epoch`].
    pub(crate) fn end_of_epoch(&self, epoch: i32) -> Option<(i32, i64)> {
        self.state.lock().log.end_of_epoch(epoch)
    }

    /// The first record below the high watermark with a timestamp of at least `timestamp`. May wait for the disk.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Damaged`].
    pub(crate) fn first_at_or_after(
        &self,
        timestamp: i64,
        isolation: Isolation,
    ) -> Result<Option<TimestampedOffset>, LogError> {
        let take = |state: &State| {
            let end = state.unstable_from(isolation).unwrap_or(state.high_watermark.offset);
            Ok((state.log.view_timestamp(timestamp), (state.log.log_start_offset(), end)))
        };
        self.look(take, |view, (start, end)| view.first_at_or_after(timestamp, *start, *end))
    }

    /// The first record below the high watermark with the largest timestamp. May wait for the disk.
    ///
    /// # Errors
    /// As [`Partition::first_at_or_after`].
    pub(crate) fn with_max_timestamp(&self, isolation: Isolation) -> Result<Option<TimestampedOffset>, LogError> {
        let largest = self.readable()?.log.max_timestamp();
        largest.map_or(Ok(None), |timestamp| self.first_at_or_after(timestamp, isolation))
    }

    fn readable(&self) -> Result<parking_lot::MutexGuard<'_, State>, LogError> {
        let state = self.state.lock();
        match &state.unreadable {
            Some(unreadable) => Err(LogError::Offline(unreadable.reason.clone())),
            None if matches!(state.closed, Some(AppendError::Deleted)) => Err(LogError::Deleted),
            None => Ok(state),
        }
    }
}

impl State {
    /// The last stable offset, where it bounds what a reader of this isolation sees.
    fn unstable_from(&self, isolation: Isolation) -> Option<i64> {
        let last_stable_offset = self.last_stable_offset();
        (isolation == Isolation::ReadCommitted && last_stable_offset < self.high_watermark.offset)
            .then_some(last_stable_offset)
    }
}
