//! What a partition remembers of idempotent and transactional producers (KIP-98, KIP-360, KIP-890).
//!
//! Pure: the log asks [`ProducerStates::check`] before it appends and tells of every batch that stands in it, live and
//! in recovery. What is told is not judged again. Invariants: a producer with an open transaction is never forgotten;
//! the offset of the first unstable record never goes back; a partition that no such producer wrote to costs one
//! pointer.

mod bound;
mod error;
mod producer;
#[cfg(test)]
mod tests;
mod transactions;

use std::collections::HashMap;

use pillion_wire::records::{BatchHeader, EndTransactionMarker};

pub(crate) use error::{MarkerError, SequenceError};
pub(crate) use transactions::{CompletedTransaction, OpenTransaction};

use super::format::producer_snapshot::ProducerSnapshotEntry;
use producer::Producer;
use transactions::Transactions;

/// What to do with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is new.
    Append,
    /// It was appended before, here.
    Duplicate {
        /// Offset of its first record.
        base_offset: i64,
        /// Offset of its last record.
        last_offset: i64,
    },
}

/// Producers by id, and their transactions.
#[derive(Debug, Default)]
pub(crate) struct ProducerStates {
    /// None until the first such producer: of ten thousand partitions most never have one.
    known: Option<Box<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    producers: HashMap<i64, Producer>,
    transactions: Transactions,
}

impl ProducerStates {
    /// Judges a batch by its header. A producer nothing is known of may begin anywhere: its state may have expired.
    ///
    /// A batch without a base sequence, as the group coordinator writes offsets of a transaction, is held to its epoch
    /// only. Control batches are [`ProducerStates::check_marker`]'s.
    ///
    /// # Errors
    /// [`SequenceError`] for a batch of an old epoch, out of sequence, or outside its producer's open transaction.
    pub(crate) fn check(&self, header: &BatchHeader) -> Result<Verdict, SequenceError> {
        if header.producer_id < 0 || header.is_control() {
            return Ok(Verdict::Append);
        }
        self.producer(header.producer_id).map_or(Ok(Verdict::Append), |producer| producer.check(header))
    }

    /// Records a data batch that stands in the log; its header has its final offsets. A transactional one opens a
    /// transaction at its first offset, unless its producer has one open.
    pub(crate) fn note(&mut self, header: &BatchHeader) {
        if header.producer_id < 0 || header.is_control() {
            return;
        }
        let Known { producers, transactions } = &mut **self.known.get_or_insert_default();
        let producer = producer_of(producers, header);
        producer.note(header);
        if header.is_transactional() && producer.open_transaction().is_none() {
            producer.begin_transaction(header.base_offset);
            transactions.begin(header.base_offset, header.producer_id);
        }
    }

    /// Whether the transaction coordinator may write a marker for a producer. `is_epoch_bumped` says that the marker's
    /// epoch is one above that of the transaction's records (KIP-890): a producer that has it already has its marker
    /// too, and what it wrote since belongs to the next transaction (KIP-1228).
    ///
    /// # Errors
    /// [`MarkerError`] when the producer, or the coordinator, has been replaced by a newer one, or the marker is there.
    pub(crate) fn check_marker(
        &self,
        producer_id: i64,
        producer_epoch: i16,
        is_epoch_bumped: bool,
        coordinator_epoch: i32,
    ) -> Result<(), MarkerError> {
        self.producer(producer_id)
            .map_or(Ok(()), |producer| producer.check_marker(producer_epoch, is_epoch_bumped, coordinator_epoch))
    }

    /// Whether a producer of this epoch has a transaction open here.
    pub(crate) fn has_open_transaction(&self, producer_id: i64, producer_epoch: i16) -> bool {
        self.producer(producer_id)
            .is_some_and(|producer| producer.epoch() == producer_epoch && producer.open_transaction().is_some())
    }

    /// Records a marker that stands in the log; `header` is its control batch's, with its final offset. The marker's
    /// epoch becomes the producer's: KIP-890 raises it there, and sequences then begin at 0 again.
    ///
    /// None when the producer had no open transaction here, so that the last stable offset does not depend on it.
    pub(crate) fn note_marker(
        &mut self,
        header: &BatchHeader,
        marker: &EndTransactionMarker,
    ) -> Option<CompletedTransaction> {
        if header.producer_id < 0 {
            return None;
        }
        let Known { producers, transactions } = &mut **self.known.get_or_insert_default();
        let first_offset = producer_of(producers, header).note_marker(header, marker)?;
        let completed = CompletedTransaction {
            producer_id: header.producer_id,
            first_offset,
            last_offset: header.base_offset,
            aborted: !marker.commit,
        };
        transactions.complete(&completed);
        Some(completed)
    }

    /// Records a marker of which compaction has left only the control batch's header, for the epoch in it: its transaction
    /// is gone from the log as a whole.
    pub(crate) fn note_spent_marker(&mut self, header: &BatchHeader) {
        if header.producer_id >= 0 {
            producer_of(&mut self.known.get_or_insert_default().producers, header).note_spent_marker(header);
        }
    }

    /// Offset of the first record whose fate is open: of a transaction without a marker, or with one that is not yet
    /// below the high watermark. None when all are settled. Not below the log start offset.
    pub(crate) fn first_unstable_offset(&self) -> Option<i64> {
        self.known.as_ref()?.transactions.first_unstable_offset()
    }

    /// Settles the transactions whose markers are below the high watermark.
    pub(crate) fn high_watermark_moved(&mut self, high_watermark: i64) {
        if let Some(known) = &mut self.known {
            known.transactions.settle_below(high_watermark);
        }
    }

    /// Offset of the first record of a transaction without a marker that no power cut can take back: with
    /// `log.durability=async` it may be before [`ProducerStates::first_unstable_offset`].
    pub(crate) fn first_undurable_offset(&self) -> Option<i64> {
        self.known.as_ref()?.transactions.first_undurable_offset()
    }

    /// What is below `durable_end` is on disk.
    pub(crate) fn durable_end_moved(&mut self, durable_end: i64) {
        if let Some(known) = &mut self.known {
            known.transactions.durable_below(durable_end);
        }
    }

    /// The last stable offset that a completed transaction leaves, as the transaction index notes it: the first offset
    /// of a transaction still open, else `next_offset`, the offset behind the marker. To be asked right after
    /// [`ProducerStates::note_marker`].
    pub(crate) fn last_stable_offset_after(&self, completed: &CompletedTransaction, next_offset: i64) -> i64 {
        debug_assert!(completed.last_offset < next_offset, "the marker is below the log's end");
        self.known.as_ref().and_then(|known| known.transactions.first_open_offset()).unwrap_or(next_offset)
    }

    /// The producers as a snapshot file keeps them, by id: of each only the last batch.
    pub(crate) fn snapshot(&self) -> Vec<ProducerSnapshotEntry> {
        let producers = self.known.iter().flat_map(|known| &known.producers);
        let mut entries: Vec<_> = producers.map(|(id, producer)| producer.snapshot(*id)).collect();
        entries.sort_unstable_by_key(|entry| entry.producer_id);
        entries
    }

    /// What a snapshot file kept. Its transactions without a marker are open again; those with one are settled.
    pub(crate) fn restore(entries: Vec<ProducerSnapshotEntry>) -> Self {
        if entries.is_empty() {
            return Self::default();
        }
        let mut known = Known::default();
        for entry in entries {
            let producer = Producer::restore(&entry);
            if let Some(first_offset) = producer.open_transaction() {
                known.transactions.begin(first_offset, entry.producer_id);
            }
            known.producers.insert(entry.producer_id, producer);
        }
        Self { known: Some(Box::new(known)) }
    }

    /// Remembers a batch from before the snapshot that was restored, which keeps the last one only; called for batches
    /// in descending order, it brings back those a client may still have in flight.
    pub(crate) fn recall(&mut self, header: &BatchHeader) {
        let producers = self.known.as_mut().map(|known| &mut known.producers);
        if let Some(producer) = producers.and_then(|producers| producers.get_mut(&header.producer_id)) {
            producer.recall(header);
        }
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_none()
    }

    /// Forgets producers whose last batch or marker is `expiration_ms` old by its own timestamp
    /// (`producer.id.expiration.ms`), unless their transaction is open.
    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) {
        if let Some(known) = &mut self.known {
            let newest_expired = now_ms.saturating_sub(expiration_ms);
            bound::forget_silent(&mut known.producers, newest_expired);
            if known.producers.is_empty() && known.transactions.is_empty() {
                self.known = None;
            }
        }
    }

    /// Transactions without a marker, by first offset.
    #[cfg_attr(not(test), allow(dead_code, reason = "for DescribeProducers, which comes with the coordinator"))]
    pub(crate) fn open_transactions(&self) -> impl Iterator<Item = OpenTransaction> {
        self.known.iter().flat_map(|known| {
            known.transactions.open().filter_map(|(first_offset, producer_id)| {
                let producer = known.producers.get(&producer_id)?;
                Some(OpenTransaction {
                    producer_id,
                    producer_epoch: producer.epoch(),
                    first_offset,
                    last_timestamp: producer.last_timestamp(),
                })
            })
        })
    }

    /// The log now starts at `log_start_offset`. Producers stay until they expire, though their batches are gone: a
    /// retry is told from a new batch all the same.
    pub(crate) fn truncate(&mut self, log_start_offset: i64) {
        if let Some(known) = &mut self.known {
            known.transactions.truncate(log_start_offset);
        }
    }

    /// Producers known.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.producers.len())
    }

    fn producer(&self, producer_id: i64) -> Option<&Producer> {
        self.known.as_ref()?.producers.get(&producer_id)
    }
}

/// The producer of a batch, with room made for it when it is new.
fn producer_of<'a>(producers: &'a mut HashMap<i64, Producer>, header: &BatchHeader) -> &'a mut Producer {
    if !producers.contains_key(&header.producer_id) {
        bound::make_room(producers);
    }
    producers.entry(header.producer_id).or_insert_with(|| Producer::new(header.producer_epoch))
}
