//! One producer: its epoch, its last batches, and its open transaction.

use pillion_wire::records::{BatchHeader, EndTransactionMarker, advance_sequence};

use super::{MarkerError, ProducerSnapshotEntry, SequenceError, Verdict};

/// Batches remembered of each producer: as many as a client may have in flight.
const BATCHES_KEPT: usize = 5;
/// What stands for none in sequences, offsets and epochs, on the wire and in Kafka's files.
const NONE: i8 = -1;

/// What is known of one producer.
#[derive(Debug)]
pub(super) struct Producer {
    epoch: i16,
    coordinator_epoch: i32,
    /// Of its last batch or marker, whichever came later in the log, as Kafka keeps it.
    last_timestamp: i64,
    open_transaction: Option<i64>,
    batches: RecentBatches,
}

impl Producer {
    pub(super) fn new(epoch: i16) -> Self {
        Self {
            epoch,
            coordinator_epoch: NONE.into(),
            last_timestamp: NONE.into(),
            open_transaction: None,
            batches: RecentBatches::default(),
        }
    }

    pub(super) fn epoch(&self) -> i16 {
        self.epoch
    }

    pub(super) fn last_timestamp(&self) -> i64 {
        self.last_timestamp
    }

    /// First offset of its open transaction.
    pub(super) fn open_transaction(&self) -> Option<i64> {
        self.open_transaction
    }

    pub(super) fn begin_transaction(&mut self, first_offset: i64) {
        self.open_transaction = Some(first_offset);
    }

    pub(super) fn check(&self, header: &BatchHeader) -> Result<Verdict, SequenceError> {
        let (epoch, sequence, current) = (header.producer_epoch, header.base_sequence, self.epoch);
        if epoch < current {
            return Err(SequenceError::StaleEpoch { epoch, current });
        }
        let has_sequence = sequence >= 0;
        if epoch == current
            && has_sequence
            && let Some(batch) = self.batches.find(&KnownBatch::of(header))
        {
            let base_offset = batch.last_offset - i64::from(batch.offset_delta);
            return Ok(Verdict::Duplicate { base_offset, last_offset: batch.last_offset });
        }
        // A new epoch starts over, and so does one of which only a marker is known.
        let expected = if epoch == current { advance_sequence(self.batches.last_sequence(), 1) } else { 0 };
        if has_sequence && sequence != expected {
            return Err(SequenceError::OutOfOrder { sequence, expected });
        }
        match self.open_transaction {
            Some(first_offset) if !header.is_transactional() => Err(SequenceError::TransactionOpen { first_offset }),
            _ => Ok(Verdict::Append),
        }
    }

    pub(super) fn note(&mut self, header: &BatchHeader) {
        self.enter_epoch(header.producer_epoch);
        self.last_timestamp = header.max_timestamp;
        self.batches.push(KnownBatch::of(header));
    }

    pub(super) fn check_marker(
        &self,
        epoch: i16,
        is_epoch_bumped: bool,
        coordinator_epoch: i32,
    ) -> Result<(), MarkerError> {
        if epoch < self.epoch || (is_epoch_bumped && epoch == self.epoch) {
            return Err(MarkerError::StaleEpoch { epoch, current: self.epoch });
        }
        if coordinator_epoch < self.coordinator_epoch {
            return Err(MarkerError::CoordinatorFenced { coordinator_epoch, current: self.coordinator_epoch });
        }
        Ok(())
    }

    /// The first offset of the transaction that the marker ends, if one is open.
    pub(super) fn note_marker(&mut self, header: &BatchHeader, marker: &EndTransactionMarker) -> Option<i64> {
        self.enter_epoch(header.producer_epoch);
        self.coordinator_epoch = marker.coordinator_epoch;
        self.last_timestamp = header.max_timestamp;
        self.open_transaction.take()
    }

    pub(super) fn note_spent_marker(&mut self, header: &BatchHeader) {
        self.enter_epoch(header.producer_epoch);
        self.last_timestamp = header.max_timestamp;
    }

    pub(super) fn snapshot(&self, producer_id: i64) -> ProducerSnapshotEntry {
        let last = self.batches.last();
        ProducerSnapshotEntry {
            producer_id,
            producer_epoch: self.epoch,
            last_sequence: self.batches.last_sequence(),
            last_offset: last.map_or(NONE.into(), |batch| batch.last_offset),
            offset_delta: last.map_or(0, |batch| batch.offset_delta),
            timestamp: self.last_timestamp,
            coordinator_epoch: self.coordinator_epoch,
            current_transaction_first_offset: self.open_transaction.unwrap_or(NONE.into()),
        }
    }

    pub(super) fn restore(entry: &ProducerSnapshotEntry) -> Self {
        let mut batches = RecentBatches::default();
        if entry.last_offset >= 0 {
            let ProducerSnapshotEntry { last_sequence, last_offset, offset_delta, .. } = *entry;
            batches.push(KnownBatch { last_sequence, last_offset, offset_delta });
        }
        Self {
            epoch: entry.producer_epoch,
            coordinator_epoch: entry.coordinator_epoch,
            last_timestamp: entry.timestamp,
            open_transaction: Some(entry.current_transaction_first_offset).filter(|offset| *offset >= 0),
            batches,
        }
    }

    fn enter_epoch(&mut self, epoch: i16) {
        if epoch != self.epoch {
            self.epoch = epoch;
            self.batches = RecentBatches::default();
        }
    }
}

/// A batch as a retry is recognised by: its last sequence number and length tell the first one.
#[derive(Debug, Clone, Copy, Default)]
struct KnownBatch {
    last_sequence: i32,
    offset_delta: i32,
    last_offset: i64,
}

impl KnownBatch {
    fn of(header: &BatchHeader) -> Self {
        let last_sequence = if header.base_sequence < 0 { NONE.into() } else { header.last_sequence() };
        Self { last_sequence, offset_delta: header.last_offset_delta, last_offset: header.last_offset() }
    }
}

impl Producer {
    /// Remembers a batch from before those that are known, when it is the one just before them.
    pub(super) fn recall(&mut self, header: &BatchHeader) {
        let batch = KnownBatch::of(header);
        if header.producer_epoch == self.epoch && header.base_sequence >= 0 {
            self.batches.push_before(batch);
        }
    }
}

/// The last batches of a producer's epoch, oldest first, without an allocation of their own.
#[derive(Debug, Default)]
struct RecentBatches {
    batches: [KnownBatch; BATCHES_KEPT],
    count: u8,
}

impl RecentBatches {
    fn as_slice(&self) -> &[KnownBatch] {
        &self.batches[..usize::from(self.count)]
    }

    fn push(&mut self, batch: KnownBatch) {
        if usize::from(self.count) == BATCHES_KEPT {
            self.batches.rotate_left(1);
        } else {
            self.count += 1;
        }
        self.batches[usize::from(self.count) - 1] = batch;
    }

    /// Adds the batch before the oldest one, if there is room and the sequence runs on from it.
    fn push_before(&mut self, batch: KnownBatch) {
        let count = usize::from(self.count);
        let Some(oldest) = self.as_slice().first().copied() else { return };
        let follows = advance_sequence(batch.last_sequence, oldest.offset_delta + 1) == oldest.last_sequence;
        if count == BATCHES_KEPT || !follows || batch.last_offset >= oldest.last_offset {
            return;
        }
        self.batches[..=count].rotate_right(1);
        self.batches[0] = batch;
        self.count += 1;
    }

    fn last(&self) -> Option<&KnownBatch> {
        self.as_slice().last()
    }

    /// −1 for none, which the sequence number 0 follows.
    fn last_sequence(&self) -> i32 {
        self.last().map_or(NONE.into(), |batch| batch.last_sequence)
    }

    fn find(&self, retry: &KnownBatch) -> Option<&KnownBatch> {
        let is_same = |batch: &&KnownBatch| {
            batch.last_sequence == retry.last_sequence && batch.offset_delta == retry.offset_delta
        };
        self.as_slice().iter().find(is_same)
    }
}
