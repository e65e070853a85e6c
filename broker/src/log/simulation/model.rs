//! What the log must hold: batches in a vector, and what follows from them, worked out the plain way.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use pillion_wire::records::{BatchHeader, EndTransactionMarker, Record, STAMPED_BYTES, read_batch, read_marker};

use super::expected_producers::ExpectedProducers;

/// A batch as it must stand in the log.
#[derive(Clone)]
pub(super) struct StoredBatch {
    pub(super) bytes: Bytes,
    pub(super) header: BatchHeader,
    pub(super) records: Vec<Record>,
    pub(super) marker: Option<EndTransactionMarker>,
}

impl StoredBatch {
    /// The batch with its place stamped into it.
    pub(super) fn new(batch: &[u8], base_offset: i64, leader_epoch: i32) -> Self {
        let mut bytes = BytesMut::from(batch);
        let header = BatchHeader::verify(&bytes).expect("a whole batch");
        bytes[..STAMPED_BYTES].copy_from_slice(&header.stamp(base_offset, leader_epoch));
        let bytes = bytes.freeze();
        let (header, records) = read_batch(&bytes).expect("readable records");
        let marker = read_marker(&bytes).expect("readable");
        Self { bytes, header, records, marker }
    }
}

/// What becomes of a batch's records for a reader of committed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// They are seen: of no transaction, or of one that was committed.
    Seen,
    /// They are of an aborted transaction.
    Aborted,
    /// Their transaction is open.
    Open,
    /// It is a marker.
    Marker,
}

/// A transaction in the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedTransaction {
    pub(super) producer_id: i64,
    pub(super) first_offset: i64,
    /// Offset of the last data batch's last record.
    pub(super) last_data_offset: i64,
    /// Offset of the marker, and whether it commits.
    pub(super) ended: Option<(i64, bool)>,
}

/// A round of compaction that was begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct BegunRound {
    /// Nothing from here on may be changed.
    pub(super) bound: i64,
    /// Tombstones met in this round may go from this time on.
    pub(super) horizon_ms: i64,
}

/// The model.
#[derive(Default)]
pub(super) struct Model {
    /// Every batch appended that no crash has taken back, also those below the log's start.
    pub(super) batches: Vec<StoredBatch>,
    /// A batch whose append was cut short: it may be there.
    pub(super) in_flight: Option<StoredBatch>,
    /// What readers were shown, and producers were told is there.
    pub(super) high_watermark: i64,
    /// What no crash may take.
    pub(super) durable_end: i64,
    /// Where a log began anew, all of which was deleted before it was on disk.
    pub(super) began_anew: i64,
    /// A start did not know the recovery point, nor which offsets compaction left out.
    pub(super) may_have_holes: bool,
    /// The furthest log start that was written down durably.
    pub(super) start_durable: i64,
    /// The furthest log start decided.
    pub(super) start_decided: i64,
    /// The last stable offset last seen, and what it was by the log start that was written down.
    pub(super) last_stable: i64,
    pub(super) last_stable_durable: i64,
    pub(super) rounds: Vec<BegunRound>,
    /// First offsets of transactions whose front is deleted and forgotten, by what they were.
    pub(super) fronts: BTreeMap<i64, i64>,
    /// Open transactions all of which was deleted and forgotten, by first offset, with the log's end at that time.
    pub(super) forgotten: BTreeMap<i64, i64>,
    pub(super) producers: ExpectedProducers,
}

impl Model {
    /// Offset of the next record.
    pub(super) fn end(&self) -> i64 {
        self.batches.last().map_or(0, |batch| batch.header.next_offset()).max(self.began_anew)
    }

    /// A batch was appended.
    pub(super) fn append(&mut self, batch: StoredBatch) {
        self.producers.note(&batch);
        self.batches.push(batch);
    }

    /// A start found the log to go from `start` to `end`: what is behind was lost, which must be none of what was on disk
    /// for sure.
    pub(super) fn recovered(&mut self, start: i64, end: i64) {
        self.batches.extend(self.in_flight.take());
        let kept = self.batches.partition_point(|batch| batch.header.next_offset() <= end);
        self.batches.truncate(kept);
        if self.end() < end && start == end && end > self.durable_end {
            self.began_anew = end;
        }
        assert_eq!(end, self.end(), "the recovered log ends where a batch ended");
        assert!(end >= self.durable_end, "the log ends at {end}, {} was on disk", self.durable_end);
        (self.high_watermark, self.durable_end) = (end, end);
        self.producers.rebuild(&self.batches);
    }

    /// Nobody knows where the log starts: everything there is of it is the log's, and looked at.
    pub(super) fn lost_log_start(&mut self) {
        (self.start_durable, self.last_stable_durable) = (0, 0);
        self.fronts.clear();
        self.forgotten.clear();
    }

    /// The batch that begins at `offset`.
    pub(super) fn batch_at(&self, base_offset: i64) -> Option<&StoredBatch> {
        let place = self.batches.partition_point(|batch| batch.header.base_offset < base_offset);
        self.batches.get(place).filter(|batch| batch.header.base_offset == base_offset)
    }

    /// Nothing at or above it was ever compacted.
    pub(super) fn compacted_below(&self) -> i64 {
        self.rounds.iter().map(|round| round.bound).max().unwrap_or(0)
    }

    /// When a tombstone at `offset` may be gone; never while no round has met it.
    pub(super) fn tombstone_horizon_ms(&self, base_offset: i64) -> i64 {
        let rounds = self.rounds.iter().filter(|round| round.bound > base_offset);
        rounds.map(|round| round.horizon_ms).min().unwrap_or(i64::MAX)
    }

    /// All transactions, by their first offsets.
    pub(super) fn transactions(&self) -> Vec<ExpectedTransaction> {
        let mut all: Vec<ExpectedTransaction> = Vec::new();
        for batch in &self.batches {
            let header = &batch.header;
            let is_forgotten = |first: i64| self.forgotten.get(&first).is_some_and(|at| *at <= header.base_offset);
            let open = all.iter_mut().find(|one| {
                one.producer_id == header.producer_id && one.ended.is_none() && !is_forgotten(one.first_offset)
            });
            match (open, batch.marker) {
                (Some(open), Some(marker)) => open.ended = Some((header.base_offset, marker.commit)),
                (Some(open), None) if header.is_transactional() => open.last_data_offset = header.last_offset(),
                (None, None) if header.is_transactional() => all.push(ExpectedTransaction {
                    producer_id: header.producer_id,
                    first_offset: *self.fronts.get(&header.base_offset).unwrap_or(&header.base_offset),
                    last_data_offset: header.last_offset(),
                    ended: None,
                }),
                _ => {}
            }
        }
        all
    }

    /// What becomes of each batch.
    pub(super) fn fates(&self) -> Vec<Fate> {
        let transactions = self.transactions();
        let fate = |batch: &StoredBatch| {
            if batch.header.is_control() {
                return Fate::Marker;
            }
            if !batch.header.is_transactional() {
                return Fate::Seen;
            }
            let holds = |one: &&ExpectedTransaction| {
                one.producer_id == batch.header.producer_id
                    && (one.first_offset..=one.last_data_offset).contains(&batch.header.base_offset)
            };
            match transactions.iter().find(holds).and_then(|one| one.ended) {
                None => Fate::Open,
                Some((_, true)) => Fate::Seen,
                Some((_, false)) => Fate::Aborted,
            }
        };
        self.batches.iter().map(fate).collect()
    }

    /// The last stable offset of a log that starts at `log_start`.
    pub(super) fn last_stable_offset(&self, log_start: i64) -> i64 {
        let open = self.producers.by_id.values().filter_map(|producer| producer.open);
        let unsettled = self
            .transactions()
            .into_iter()
            .filter_map(|one| one.ended.filter(|(marker, _)| *marker >= self.high_watermark).map(|_| one.first_offset));
        let first = open.chain(unsettled).map(|first| first.max(log_start)).min();
        first.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }
}
