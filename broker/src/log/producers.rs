//! What a partition remembers of idempotent producers, to tell a retry from a new batch (KIP-98, KIP-360).
//!
//! Pure: `check` judges a batch's header, `note` records one that was appended.

use std::collections::{HashMap, VecDeque};

use pillion_wire::records::{BatchHeader, advance_sequence};
use thiserror::Error;

/// Batches remembered of each producer: as many as a client may have in flight.
const BATCHES_KEPT: usize = 5;
/// Milliseconds after which a silent producer is forgotten (`producer.id.expiration.ms`).
const EXPIRATION_MS: i64 = 24 * 60 * 60 * 1000;
/// Producers above which a partition looks for expired ones, and above which it forgets the most silent.
const SWEEP_FROM: usize = 1_000;
const PRODUCERS_MAX: usize = 100_000;

/// Why a batch does not continue its producer's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SequenceError {
    /// A newer producer with the same id has taken over.
    #[error("producer epoch {epoch} is behind {current}")]
    StaleEpoch {
        /// The batch's epoch.
        epoch: i16,
        /// The epoch known.
        current: i16,
    },
    /// A batch is missing before this one.
    #[error("sequence {sequence} where {expected} was expected")]
    OutOfOrder {
        /// The batch's first sequence number.
        sequence: i32,
        /// The one that would follow.
        expected: i32,
    },
}

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

#[derive(Debug, Clone, Copy)]
struct KnownBatch {
    base_sequence: i32,
    last_sequence: i32,
    base_offset: i64,
    last_offset: i64,
}

#[derive(Debug)]
struct Producer {
    epoch: i16,
    batches: VecDeque<KnownBatch>,
    last_timestamp: i64,
}

/// Producers by id.
#[derive(Debug, Default)]
pub(crate) struct ProducerStates {
    producers: HashMap<i64, Producer>,
}

impl ProducerStates {
    /// Judges a batch by its header. A producer nothing is known of may begin anywhere: its state may have expired.
    pub(crate) fn check(&self, header: &BatchHeader) -> Result<Verdict, SequenceError> {
        if header.producer_id < 0 {
            return Ok(Verdict::Append);
        }
        let Some(producer) = self.producers.get(&header.producer_id) else { return Ok(Verdict::Append) };
        let (epoch, sequence) = (header.producer_epoch, header.base_sequence);
        if epoch < producer.epoch {
            return Err(SequenceError::StaleEpoch { epoch, current: producer.epoch });
        }
        if epoch > producer.epoch {
            return if sequence == 0 {
                Ok(Verdict::Append)
            } else {
                Err(SequenceError::OutOfOrder { sequence, expected: 0 })
            };
        }
        let same =
            |batch: &&KnownBatch| batch.base_sequence == sequence && batch.last_sequence == header.last_sequence();
        if let Some(batch) = producer.batches.iter().find(same) {
            return Ok(Verdict::Duplicate { base_offset: batch.base_offset, last_offset: batch.last_offset });
        }
        let expected = producer.batches.back().map_or(0, |batch| advance_sequence(batch.last_sequence, 1));
        if sequence == expected { Ok(Verdict::Append) } else { Err(SequenceError::OutOfOrder { sequence, expected }) }
    }

    /// Records a batch that stands in the log; its header has its final offsets.
    pub(crate) fn note(&mut self, header: &BatchHeader) {
        if header.producer_id < 0 || header.is_control() {
            return;
        }
        self.make_room(header);
        let producer = self.producers.entry(header.producer_id).or_insert_with(|| Producer {
            epoch: header.producer_epoch,
            batches: VecDeque::with_capacity(BATCHES_KEPT),
            last_timestamp: header.max_timestamp,
        });
        if header.producer_epoch != producer.epoch {
            producer.epoch = header.producer_epoch;
            producer.batches.clear();
        }
        if producer.batches.len() == BATCHES_KEPT {
            producer.batches.pop_front();
        }
        producer.last_timestamp = producer.last_timestamp.max(header.max_timestamp);
        producer.batches.push_back(KnownBatch {
            base_sequence: header.base_sequence,
            last_sequence: header.last_sequence(),
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
        });
    }

    /// Producers known.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.producers.len()
    }

    fn make_room(&mut self, header: &BatchHeader) {
        let known = self.producers.len();
        if known < SWEEP_FROM || !known.is_power_of_two() && known < PRODUCERS_MAX {
            return;
        }
        let oldest_kept = header.max_timestamp.saturating_sub(EXPIRATION_MS);
        self.producers.retain(|_, producer| producer.last_timestamp >= oldest_kept);
        if self.producers.len() >= PRODUCERS_MAX
            && let Some(id) =
                self.producers.iter().min_by_key(|(_, producer)| producer.last_timestamp).map(|(id, _)| *id)
        {
            self.producers.remove(&id);
        }
    }
}
