//! Which leader epoch wrote from which offset on (KIP-101, KIP-320).

/// Epochs with their first offsets, both ascending.
#[derive(Debug)]
pub(super) struct LeaderEpochs {
    starts: Vec<(i32, i64)>,
    /// How many are in the checkpoint file, which has none that are not here.
    saved: usize,
    /// The file holds others than these, or is missing.
    outdated: bool,
    /// Where the first one began that is not in the file, though the log's start may have passed it: that may come back.
    unsaved_from: i64,
}

impl Default for LeaderEpochs {
    fn default() -> Self {
        Self { starts: Vec::new(), saved: 0, outdated: false, unsaved_from: i64::MAX }
    }
}

impl LeaderEpochs {
    /// Epochs as a checkpoint file holds them, as far as they began below `end`; `None` when they do not ascend.
    pub(super) fn from_checkpoint(starts: Vec<(i32, i64)>, end: i64) -> Option<Self> {
        let ascend = starts.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        if !ascend {
            return None;
        }
        let all = starts.len();
        let starts: Vec<_> = starts.into_iter().filter(|(_, start)| *start < end).collect();
        let saved = starts.len();
        Some(Self { starts, saved, outdated: saved < all, ..Self::default() })
    }

    /// Notes that the batch at `offset` was written in `epoch`. Epochs that began there or behind it were of batches
    /// that a crash took.
    pub(super) fn note(&mut self, epoch: i32, offset: i64) {
        if epoch > self.latest() {
            let kept = self.starts.partition_point(|(_, start)| *start < offset);
            self.starts.truncate(kept);
            self.outdated |= kept < self.saved;
            self.saved = self.saved.min(kept);
            self.starts.push((epoch, offset));
            self.unsaved_from = self.unsaved_from.min(offset);
        }
    }

    /// Notes others' epochs behind these.
    pub(super) fn extend(&mut self, other: &Self) {
        other.starts.iter().for_each(|(epoch, start)| self.note(*epoch, *start));
    }

    /// The last epoch; −1 when there is none.
    pub(super) fn latest(&self) -> i32 {
        self.starts.last().map_or(-1, |(epoch, _)| *epoch)
    }

    /// The epoch that wrote `offset`; −1 when that is before the first.
    pub(super) fn at(&self, offset: i64) -> i32 {
        let behind = self.starts.partition_point(|(_, start)| *start <= offset);
        behind.checked_sub(1).map_or(-1, |index| self.starts[index].0)
    }

    /// The largest epoch up to `epoch` with the offset where the next one starts, or `next_offset`.
    pub(super) fn end_of(&self, epoch: i32, next_offset: i64) -> Option<(i32, i64)> {
        let behind = self.starts.partition_point(|(start, _)| *start <= epoch);
        let found = self.starts.get(behind.checked_sub(1)?)?.0;
        Some((found, self.starts.get(behind).map_or(next_offset, |(_, offset)| *offset)))
    }

    /// Forgets epochs that ended at or below the log's start; the one in force there begins with it.
    pub(super) fn start_at(&mut self, log_start_offset: i64) {
        let behind = self.starts.partition_point(|(_, start)| *start <= log_start_offset);
        if let Some(in_force) = behind.checked_sub(1)
            && (in_force > 0 || self.starts[0].1 < log_start_offset)
        {
            self.starts.drain(..in_force);
            self.starts[0].1 = log_start_offset;
            self.saved = self.saved.saturating_sub(in_force);
            self.outdated = true;
        }
    }

    /// Lets the first epoch begin at the log's start, also where compaction left no batch there.
    pub(super) fn reach_back_to(&mut self, log_start_offset: i64) {
        if let Some((_, start)) = self.starts.first_mut().filter(|(_, start)| *start > log_start_offset) {
            *start = log_start_offset;
            self.outdated = true;
        }
    }

    /// The epochs, when the checkpoint file does not hold just these.
    pub(super) fn unsaved(&self) -> Option<&[(i32, i64)]> {
        (self.outdated || self.saved < self.starts.len()).then_some(&self.starts)
    }

    /// Those up to `latest` are in the file now.
    pub(super) fn saved(&mut self, latest: i32) {
        self.saved = self.starts.partition_point(|(epoch, _)| *epoch <= latest);
        self.outdated = false;
        self.unsaved_from = self.starts.get(self.saved).map_or(i64::MAX, |(_, start)| *start);
    }

    /// Whether the file holds every epoch that began below `offset`.
    pub(super) fn is_saved_up_to(&self, offset: i64) -> bool {
        self.unsaved_from >= offset
    }
}
