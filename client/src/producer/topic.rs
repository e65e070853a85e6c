//! A topic as its producer sees it: where its partitions are kept, and the records that came before they were known.
//! Pure.

use std::collections::VecDeque;

use super::batch::Pending;
use super::partitioner::{Sticky, partition_of_key};

/// A topic that has been produced to.
#[derive(Debug, Default)]
pub(super) struct TopicQueue {
    /// Places of its partitions, by number; empty until they are known.
    pub(super) slots: Vec<usize>,
    /// Records queued before that, in order.
    pub(super) unrouted: VecDeque<Pending>,
    /// How many partitions the topic has now, when that is not what it had at first and keys must not move.
    pub(super) changed: Option<usize>,
    sticky: Sticky,
}

impl TopicQueue {
    /// Whether a record's partition depends on how many there are.
    pub(super) fn would_move(&self, pending: &Pending) -> bool {
        self.changed.is_some() && pending.partition.is_none() && pending.record.key.is_some()
    }

    /// The place of a record's partition, `None` when there is no such partition; `is_open` tells whether the batch at
    /// a place takes the record.
    pub(super) fn route(&mut self, pending: &Pending, is_open: impl FnOnce(usize) -> bool) -> Option<usize> {
        let count = i32::try_from(self.slots.len()).unwrap_or(i32::MAX);
        let slots = &self.slots;
        let partition = match (pending.partition, &pending.record.key) {
            (Some(partition), _) => partition,
            (None, Some(key)) => partition_of_key(key, count),
            (None, None) => {
                self.sticky.choose(count, |partition| slots.get(partition as usize).is_some_and(|slot| is_open(*slot)))
            }
        };
        self.slots.get(usize::try_from(partition).ok()?).copied()
    }
}
