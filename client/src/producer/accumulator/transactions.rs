//! The accumulator's part in transactions: which are doomed by what failed, and which partitions they include. Pure.

use super::{Accumulator, Gate, Partition, Settled, Slot};
use crate::producer::plan::Swept;
use crate::transaction::AbortCause;

impl Accumulator {
    /// Dooms the transactions of batches that failed.
    pub(super) fn note_failures(&mut self, settled: &[Settled]) {
        for settled in settled {
            if let Settled::Done(batch, Err(error)) = settled {
                self.gate.fail(batch.transaction, &AbortCause::of_record(error));
            }
        }
    }

    /// Takes what waits of doomed transactions.
    pub(in crate::producer) fn sweep(&mut self) -> Swept {
        let mut swept = Swept::default();
        if !self.gate.has_doomed() {
            return swept;
        }
        let gate = &self.gate;
        for partition in &mut self.partitions {
            let doomed = partition.queue.take_doomed(|transaction| gate.doom_of(transaction).is_some());
            swept
                .batches
                .extend(doomed.into_iter().filter_map(|batch| Some((gate.error_of(batch.transaction)?, batch))));
        }
        for topic in self.topics.values_mut() {
            for pending in std::mem::take(&mut topic.unrouted) {
                match gate.error_of(pending.transaction) {
                    Some(error) => {
                        self.unrouted -= 1;
                        swept.records.push((error, pending));
                    }
                    None => topic.unrouted.push_back(pending),
                }
            }
        }
        swept
    }

    /// Which transaction's records may go out.
    pub(in crate::producer) fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// Partitions with records of the released transaction that it does not include yet.
    pub(in crate::producer) fn unenlisted(&self) -> Vec<Slot> {
        let Some(transaction) = self.gate.enlists() else { return Vec::new() };
        let lacks = |partition: &Partition| {
            let waits = partition.queue.head().is_some_and(|head| head.transaction == transaction);
            waits && partition.enlisted < transaction
        };
        let active = self.active.iter().copied();
        active.filter(|slot| lacks(&self.partitions[*slot])).map(Slot).collect()
    }

    /// Notes that partitions were added to the released transaction.
    pub(in crate::producer) fn enlist(&mut self, slots: &[Slot]) {
        let Some(transaction) = self.gate.enlists() else { return };
        slots.iter().for_each(|Slot(slot)| self.partitions[*slot].enlisted = transaction);
    }
}
