//! Builds a batch from records.

use bytes::Bytes;

use super::record::write_record;
use super::{BatchHeader, Compression, HEADER_BYTES, Record, RecordsError};
use crate::Writer;

/// Who wrote a batch: an idempotent producer and its place in that producer's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchProducer {
    /// Producer id.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// Sequence number of the batch's first record.
    pub base_sequence: i32,
    /// Whether the batch belongs to a transaction.
    pub transactional: bool,
}

/// Collects records into one batch with base offset 0, as a producer sends it.
#[derive(Debug)]
pub struct BatchBuilder {
    compression: Compression,
    records: Writer,
    count: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    bytes: usize,
}

impl BatchBuilder {
    /// An empty batch.
    #[must_use]
    pub fn new(compression: Compression) -> Self {
        Self { compression, records: Writer::new(), count: 0, base_timestamp: 0, max_timestamp: i64::MIN, bytes: 0 }
    }

    /// Adds a record behind the others; its `offset` is not looked at.
    pub fn push(&mut self, record: &Record) {
        if self.count == 0 {
            self.base_timestamp = record.timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        let delta = record.timestamp.wrapping_sub(self.base_timestamp);
        let bytes_max = Self::record_bytes_max(record);
        self.records.reserve(bytes_max);
        write_record(&mut self.records, record, self.count, delta);
        self.count += 1;
        self.bytes += bytes_max;
    }

    /// An upper bound of what a record adds, in bytes before compression.
    #[must_use]
    pub fn record_bytes_max(record: &Record) -> usize {
        let length = |bytes: Option<&Bytes>| bytes.map_or(0, Bytes::len) + 5;
        let headers = record.headers.iter().map(|header| header.key.len() + 5 + length(header.value.as_ref()));
        26 + length(record.key.as_ref()) + length(record.value.as_ref()) + headers.sum::<usize>()
    }

    /// Records so far.
    #[must_use]
    pub fn count(&self) -> i32 {
        self.count
    }

    /// An upper bound of the batch's size before compression, in bytes.
    #[must_use]
    pub fn bytes_max(&self) -> usize {
        HEADER_BYTES + self.bytes
    }

    /// The finished batch.
    ///
    /// # Errors
    /// [`RecordsError::Compression`] when the codec fails.
    pub fn build(self, producer: Option<BatchProducer>) -> Result<Bytes, RecordsError> {
        let records = self.records.into_bytes();
        let body = self.compression.compress(&records)?;
        let transactional = producer.is_some_and(|producer| producer.transactional);
        let header = BatchHeader {
            base_offset: 0,
            batch_length: 0,
            leader_epoch: -1,
            magic: 2,
            checksum: 0,
            attributes: self.compression.attribute_bits() | if transactional { 0x10 } else { 0 },
            last_offset_delta: self.count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: producer.map_or(-1, |producer| producer.id),
            producer_epoch: producer.map_or(-1, |producer| producer.epoch),
            base_sequence: producer.map_or(-1, |producer| producer.base_sequence),
            record_count: self.count,
        };
        Ok(header.seal(&body).1)
    }
}
