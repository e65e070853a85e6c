//! A partition's batches in transactions: a new sequence with each identity, and what waits of doomed ones. Pure.

use super::{Batch, Identity, PartitionQueue};

impl PartitionQueue {
    /// Begins a new sequence when a transaction came with another identity than the one before: nothing of the earlier
    /// one is in flight any more.
    pub(super) fn enter(&mut self, identity: Identity) {
        if self.sequence.is_none_or(|(known, _)| known != identity) {
            self.sequence = Some((identity, 0));
            (self.acknowledged, self.abandoned, self.failures) = (None, None, 0);
            self.stamped.clear();
        }
    }

    /// Takes what waits of the transactions that `is_doomed` names.
    pub(in crate::producer) fn take_doomed(&mut self, is_doomed: impl Fn(u64) -> bool) -> Vec<Batch> {
        let (doomed, kept) = self.queue.drain(..).partition(|batch| is_doomed(batch.transaction));
        self.queue = kept;
        doomed.into()
    }
}
