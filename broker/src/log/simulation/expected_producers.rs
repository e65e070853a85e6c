//! What the log must know of idempotent producers: the rules of KIP-98 over a plain list of batches.

use std::collections::BTreeMap;

use pillion_wire::records::BatchHeader;

use super::model::StoredBatch;
use crate::log::{SequenceError, Verdict};

/// Batches that a retry is recognised by.
const BATCHES_KEPT: usize = 5;

/// Producers by id.
#[derive(Default)]
pub(super) struct ExpectedProducers {
    pub(super) by_id: BTreeMap<i64, ExpectedProducer>,
    /// Those that were forgotten in silence, with the log's end at that time: a start may know them again.
    pub(super) expired: BTreeMap<i64, i64>,
}

/// One producer.
#[derive(Default)]
pub(super) struct ExpectedProducer {
    pub(super) epoch: i16,
    /// Epoch of the coordinator that ended its last transaction, and the marker's offset.
    pub(super) coordinator: Option<(i32, i64)>,
    /// Its epoch's last batches, oldest first.
    pub(super) batches: Vec<BatchHeader>,
    /// First offset of its open transaction.
    pub(super) open: Option<i64>,
    /// Where its last batch or marker ends, and the time of that.
    pub(super) last_offset: i64,
    pub(super) last_timestamp: i64,
}

/// What is to be answered to a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Append,
    Duplicate { base_offset: i64, last_offset: i64 },
    OutOfOrder,
    StaleEpoch,
    TransactionOpen,
}

impl From<Result<Verdict, SequenceError>> for Expected {
    fn from(verdict: Result<Verdict, SequenceError>) -> Self {
        match verdict {
            Ok(Verdict::Append) => Self::Append,
            Ok(Verdict::Duplicate { base_offset, last_offset }) => Self::Duplicate { base_offset, last_offset },
            Err(SequenceError::OutOfOrder { .. }) => Self::OutOfOrder,
            Err(SequenceError::StaleEpoch { .. }) => Self::StaleEpoch,
            Err(SequenceError::TransactionOpen { .. }) => Self::TransactionOpen,
        }
    }
}

impl ExpectedProducers {
    pub(super) fn note(&mut self, batch: &StoredBatch) {
        let header = &batch.header;
        if header.producer_id < 0 {
            return;
        }
        let producer = self.by_id.entry(header.producer_id).or_default();
        if producer.epoch != header.producer_epoch {
            producer.epoch = header.producer_epoch;
            producer.batches.clear();
        }
        (producer.last_offset, producer.last_timestamp) = (header.last_offset(), header.max_timestamp);
        if let Some(marker) = batch.marker {
            (producer.open, producer.coordinator) = (None, Some((marker.coordinator_epoch, header.base_offset)));
            return;
        }
        producer.batches.push(*header);
        if producer.batches.len() > BATCHES_KEPT {
            producer.batches.remove(0);
        }
        if header.is_transactional() && producer.open.is_none() {
            producer.open = Some(header.base_offset);
        }
    }

    /// Forgets those without an open transaction whose last batch or marker is not younger than `newest_expired`.
    pub(super) fn expire(&mut self, newest_expired: i64, log_end: i64) {
        let expired = &mut self.expired;
        self.by_id.retain(|producer_id, producer| {
            let stays = producer.open.is_some() || producer.last_timestamp > newest_expired;
            if !stays {
                expired.insert(*producer_id, log_end);
            }
            stays
        });
    }

    /// As after a start: from the batches alone.
    pub(super) fn rebuild(&mut self, batches: &[StoredBatch]) {
        self.by_id.clear();
        batches.iter().for_each(|batch| self.note(batch));
        let end = batches.last().map_or(0, |batch| batch.header.next_offset());
        self.expired.values_mut().for_each(|at| *at = end.min(*at));
    }

    /// Whether a marker of these epochs comes from a producer or coordinator that was replaced.
    pub(super) fn refuses_marker(&self, producer_id: i64, epoch: i16, coordinator_epoch: i32) -> bool {
        let known = self.by_id.get(&producer_id);
        known.is_some_and(|known| {
            epoch < known.epoch || known.coordinator.is_some_and(|(current, _)| coordinator_epoch < current)
        })
    }

    pub(super) fn check(&self, header: &BatchHeader) -> Expected {
        let Some(producer) = self.by_id.get(&header.producer_id) else { return Expected::Append };
        if header.producer_epoch < producer.epoch {
            return Expected::StaleEpoch;
        }
        let is_current = header.producer_epoch == producer.epoch;
        let is_same = |batch: &&BatchHeader| {
            batch.base_sequence == header.base_sequence && batch.last_offset_delta == header.last_offset_delta
        };
        if let Some(batch) = producer.batches.iter().find(is_same).filter(|_| is_current) {
            return Expected::Duplicate { base_offset: batch.base_offset, last_offset: batch.last_offset() };
        }
        let next = producer.batches.last().filter(|_| is_current).map_or(0, |last| last.last_sequence() + 1);
        if header.base_sequence != next {
            return Expected::OutOfOrder;
        }
        if producer.open.is_some() && !header.is_transactional() {
            return Expected::TransactionOpen;
        }
        Expected::Append
    }
}
