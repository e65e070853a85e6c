//! A fetch session (KIP-227): what a client asks for again and again, and what it was told last. Pure.
//!
//! A client opens a session with a whole request and from then on sends only what has changed; it is answered only
//! with what has changed. Each request counts the session's epoch up by one, so that neither side goes on from a
//! request or an answer that the other has not seen. Partitions are kept in the order of their keys; one costs less
//! than 64 bytes.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use pillion_wire::ErrorCode;

use super::wanted::{PartitionKey, Wanted};

/// The offsets that a client is told of a partition whenever one of them moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start_offset: i64,
}

/// What an answer has to say of one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    pub(super) marks: Marks,
    /// There are records, which are always sent.
    pub(super) has_records: bool,
    /// There is an error, or the reader's history diverges: always sent, and the marks once more when it is over.
    pub(super) has_error: bool,
}

impl Marks {
    /// Of a partition that the client has been told nothing of.
    const UNTOLD: Self = Self { high_watermark: i64::MIN, last_stable_offset: i64::MIN, log_start_offset: i64::MIN };
}

#[derive(Debug)]
struct SessionPartition {
    wanted: Wanted,
    told: Marks,
}

/// One client's session.
#[derive(Debug)]
pub(super) struct FetchSession {
    id: i32,
    /// What the next request must bring.
    epoch: i32,
    /// Whether its topics are named by id, which may not change.
    by_id: bool,
    /// In the order of their keys.
    partitions: Vec<SessionPartition>,
    /// The partition that the next answer looks at first, for the last one had no room left for it.
    first: Option<Wanted>,
}

impl FetchSession {
    /// A session of these partitions; where one is named twice the last counts.
    pub(super) fn new(id: i32, by_id: bool, wanted: &[Wanted]) -> Self {
        let mut session = Self { id, epoch: 1, by_id, partitions: Vec::new(), first: None };
        session.add(wanted.iter().cloned());
        session
    }

    /// Its number, never 0.
    pub(super) fn id(&self) -> i32 {
        self.id
    }

    /// How many partitions it holds.
    pub(super) fn len(&self) -> usize {
        self.partitions.len()
    }

    /// Whether its client has sent nothing further since a request of this epoch was taken in.
    pub(super) fn is_answering(&self, epoch: i32) -> bool {
        self.epoch == next_epoch(epoch)
    }

    /// Takes a request in: partitions added or changed, then those forgotten.
    ///
    /// # Errors
    /// INVALID_FETCH_SESSION_EPOCH, or FETCH_SESSION_TOPIC_ID_ERROR where names become ids or ids names; nothing has
    /// changed then.
    pub(super) fn go_on<'a>(
        &mut self,
        epoch: i32,
        by_id: bool,
        changed: Vec<Wanted>,
        forgotten: impl Iterator<Item = PartitionKey<'a>>,
    ) -> Result<(), ErrorCode> {
        if epoch != self.epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if by_id != self.by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        self.epoch = next_epoch(epoch);
        let added = changed.into_iter().filter_map(|wanted| self.change(wanted));
        let added: Vec<_> = added.collect();
        self.add(added);
        self.forget(forgotten);
        Ok(())
    }

    /// Every partition, in order.
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        self.partitions.iter().map(|partition| partition.wanted.clone()).collect()
    }

    /// The place of the partition to look at first.
    pub(super) fn first(&self) -> usize {
        let Some(first) = &self.first else { return 0 };
        let place = self.place(|partition| partition.wanted.compare(first)).unwrap_or_else(|place| place);
        if place < self.partitions.len() { place } else { 0 }
    }

    /// Notes who is to be looked at first next time.
    pub(super) fn begin_with(&mut self, first: Option<&Wanted>) {
        self.first = first.cloned();
    }

    /// Whether an answer must speak of a partition, which is taken to be told then. `place` is where it probably is.
    pub(super) fn tell(&mut self, place: usize, wanted: &Wanted, report: Report) -> bool {
        let is_there = |partition: &SessionPartition| partition.wanted.compare(wanted) == Ordering::Equal;
        let place = match self.partitions.get(place) {
            Some(partition) if is_there(partition) => Ok(place),
            _ => self.place(|partition| partition.wanted.compare(wanted)),
        };
        let Some(partition) = place.ok().and_then(|place| self.partitions.get_mut(place)) else { return true };
        let must = report.has_records || report.has_error || partition.told != report.marks;
        partition.told = if report.has_error { Marks::UNTOLD } else { report.marks };
        must
    }

    fn place(&self, compare: impl Fn(&SessionPartition) -> Ordering) -> Result<usize, usize> {
        self.partitions.binary_search_by(compare)
    }

    /// Changes what is wanted of a partition that is here; gives it back when it is not.
    fn change(&mut self, wanted: Wanted) -> Option<Wanted> {
        let Ok(place) = self.place(|partition| partition.wanted.compare(&wanted)) else { return Some(wanted) };
        let held = &mut self.partitions[place].wanted;
        // The topic stays the one held, which knows under which name it was found.
        *held = Wanted { topic: std::sync::Arc::clone(&held.topic), ..wanted };
        None
    }

    fn add(&mut self, added: impl IntoIterator<Item = Wanted>) {
        let before = self.partitions.len();
        self.partitions.extend(added.into_iter().map(|wanted| SessionPartition { wanted, told: Marks::UNTOLD }));
        if self.partitions.len() == before {
            return;
        }
        self.partitions.sort_by(|left, right| left.wanted.compare(&right.wanted));
        self.partitions.dedup_by(|later, earlier| {
            let same = later.wanted.compare(&earlier.wanted) == Ordering::Equal;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        self.partitions.shrink_to_fit();
    }

    fn forget<'a>(&mut self, forgotten: impl Iterator<Item = PartitionKey<'a>>) {
        let mut places: Vec<_> =
            forgotten.filter_map(|key| self.place(|partition| partition.wanted.key().cmp(&key)).ok()).collect();
        places.sort_unstable();
        let (mut place, mut next) = (0, places.into_iter().peekable());
        self.partitions.retain(|_| {
            let keep = next.peek() != Some(&place);
            while next.peek() == Some(&place) {
                next.next();
            }
            place += 1;
            keep
        });
    }
}

/// Epochs count from 1 to the largest and begin again with 1: 0 opens a session and −1 ends one.
fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}
