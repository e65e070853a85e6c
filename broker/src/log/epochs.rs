//! Which leader epoch wrote from which offset on (KIP-101, KIP-320).

/// Epochs with their first offsets, both ascending.
#[derive(Debug, Default)]
pub(super) struct LeaderEpochs {
    starts: Vec<(i32, i64)>,
}

impl LeaderEpochs {
    /// Notes that the batch at `offset` was written in `epoch`.
    pub(super) fn note(&mut self, epoch: i32, offset: i64) {
        if epoch > self.latest() {
            self.starts.push((epoch, offset));
        }
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
}
