//! How far each partition is finished, when its records finish in any order. Pure.
//!
//! Invariant: the offset to commit never passes a record that is still under way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Where a record is, as of the time it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
    pub(super) offset: i64,
    /// Which run over the partition it belongs to: after a rebalance offsets may come a second time.
    run: u64,
}

/// All partitions.
#[derive(Debug, Default)]
pub(super) struct Progress {
    partitions: HashMap<(Arc<str>, i32), Run>,
}

/// One run over a partition, in ascending order of offsets.
#[derive(Debug, Default)]
struct Run {
    number: u64,
    /// Offset, and whether it is finished. The first one is not.
    under_way: VecDeque<(i64, bool)>,
    /// The last offset that was begun.
    last: i64,
}

impl Progress {
    /// Notes that a record has been received. One that was received before begins the partition anew: what is under way
    /// from before no longer counts.
    pub(super) fn begin(&mut self, topic: &str, partition: i32, offset: i64) -> Place {
        let topic: Arc<str> = topic.into();
        let run = self.partitions.entry((topic.clone(), partition)).or_insert(Run { last: -1, ..Run::default() });
        if offset <= run.last {
            *run = Run { number: run.number + 1, ..Run::default() };
        }
        run.last = offset;
        run.under_way.push_back((offset, false));
        Place { topic, partition, offset, run: run.number }
    }

    /// Notes that a record is finished; answers the offset to commit if it has moved: the first that is not finished.
    pub(super) fn finish(&mut self, place: &Place) -> Option<i64> {
        let run = self.partitions.get_mut(&(place.topic.clone(), place.partition))?;
        if run.number != place.run {
            return None;
        }
        let index = run.under_way.binary_search_by_key(&place.offset, |(offset, _)| *offset).ok()?;
        run.under_way[index].1 = true;
        let mut next = None;
        while let Some((offset, true)) = run.under_way.front() {
            next = Some(offset + 1);
            run.under_way.pop_front();
        }
        next
    }
}

#[cfg(test)]
mod tests;
