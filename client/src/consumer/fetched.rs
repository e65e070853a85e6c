//! One partition's share of a Fetch answer, read batch by batch. Pure.
//!
//! A broker answers with whole batches: the first may begin below the position, the last may be cut short. Markers and
//! records of aborted transactions are passed over, and the position moves past them all the same.

use std::collections::{HashSet, VecDeque};

use bytes::{Buf, Bytes};
use pillion_wire::messages::fetch::AbortedTransaction;
use pillion_wire::records::{BatchHeader, Record, RecordsError, TimestampType, read_batch};

/// Type of the marker that ends an aborted transaction; its key is int16 version, int16 type.
const ABORT_MARKER: [u8; 2] = [0, 0];

/// A reader's place in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    /// The next record's offset, or less where records are missing.
    pub(super) offset: i64,
    /// The leader epoch of the batch read last; −1 when unknown.
    pub(super) last_epoch: i32,
}

/// A record with what its batch says of it.
#[derive(Debug)]
pub(super) struct FetchedRecord {
    pub(super) record: Record,
    pub(super) leader_epoch: i32,
    pub(super) timestamp_type: TimestampType,
}

/// Batches fetched and not read yet.
#[derive(Debug)]
pub(super) struct Fetched {
    batches: Bytes,
    /// Aborted transactions whose first record has not been met, by that record's offset.
    aborted: VecDeque<AbortedTransaction>,
    /// Producers in an aborted transaction at this point.
    aborting: HashSet<i64>,
    /// Records of the batch being read, in reverse.
    records: Vec<Record>,
    /// That batch's header.
    header: Option<BatchHeader>,
}

impl Fetched {
    /// What was fetched; `aborted` is `None` when uncommitted records are wanted, too.
    pub(super) fn new(batches: Bytes, aborted: Option<Vec<AbortedTransaction>>) -> Self {
        let mut aborted = aborted.unwrap_or_default();
        aborted.sort_unstable_by_key(|transaction| transaction.first_offset);
        Self { batches, aborted: aborted.into(), aborting: HashSet::new(), records: Vec::new(), header: None }
    }

    /// The next record at or behind the position, which moves along; `None` when all is read.
    ///
    /// # Errors
    /// [`RecordsError`] when the next batch is damaged; the position stays before it.
    pub(super) fn next(&mut self, position: &mut Position) -> Result<Option<FetchedRecord>, RecordsError> {
        loop {
            if let Some(header) = self.header {
                while let Some(record) = self.records.pop() {
                    if record.offset < position.offset {
                        continue;
                    }
                    position.offset = record.offset + 1;
                    let (leader_epoch, timestamp_type) = (header.leader_epoch, header.timestamp_type());
                    return Ok(Some(FetchedRecord { record, leader_epoch, timestamp_type }));
                }
                position.offset = position.offset.max(header.next_offset());
                position.last_epoch = header.leader_epoch;
                self.header = None;
            }
            if !self.read_next_batch()? {
                return Ok(None);
            }
        }
    }

    /// Whether nothing is left to read.
    pub(super) fn is_exhausted(&self) -> bool {
        self.header.is_none() && self.whole_batch().is_none()
    }

    /// Reads the batch in front, unless it was cut short or there is none.
    fn read_next_batch(&mut self) -> Result<bool, RecordsError> {
        let Some(size) = self.whole_batch() else { return Ok(false) };
        let batch = self.batches.slice(..size);
        let header = BatchHeader::parse(&batch)?;
        let skipped = self.is_aborted(&header);
        let mut records = if skipped && !header.is_control() { Vec::new() } else { read_batch(&batch)?.1 };
        if header.is_control() {
            if records
                .first()
                .and_then(|marker| marker.key.as_ref())
                .is_some_and(|key| key.get(2..4) == Some(&ABORT_MARKER))
            {
                self.aborting.remove(&header.producer_id);
            }
            records.clear();
        }
        records.reverse();
        self.batches.advance(size);
        (self.records, self.header) = (records, Some(header));
        Ok(true)
    }

    /// Whether the batch belongs to an aborted transaction.
    fn is_aborted(&mut self, header: &BatchHeader) -> bool {
        while self.aborted.front().is_some_and(|transaction| transaction.first_offset <= header.last_offset()) {
            self.aborting.extend(self.aborted.pop_front().map(|transaction| transaction.producer_id));
        }
        header.is_transactional() && self.aborting.contains(&header.producer_id)
    }

    /// Bytes of the batch in front when it is there as a whole. One with a header that cannot be parsed counts as
    /// whole, so that reading it tells what is wrong.
    fn whole_batch(&self) -> Option<usize> {
        if self.batches.len() < pillion_wire::records::HEADER_BYTES {
            return None;
        }
        match BatchHeader::parse(&self.batches) {
            Ok(header) => Some(header.size()).filter(|size| *size <= self.batches.len()),
            Err(_) => Some(self.batches.len()),
        }
    }
}

#[cfg(test)]
mod tests;
