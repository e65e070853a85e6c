//! Batches read record by record, and written again with some records gone: what compaction does to a log.
//!
//! A rewritten batch keeps its base offset, last offset, leader epoch, producer and codec, and every record its
//! offset, so that a compacted batch has gaps and still says where it ended. Only timestamps' deltas change; all that
//! stands behind them in a record is copied as it is.
//!
//! The delete horizon (KIP-534, attribute bit 6) is the time from which tombstones and markers of the batch may go;
//! it stands in the base timestamp, and the records' deltas count from it.

#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};

use super::record::varlong_size;
use super::{BatchHeader, BatchRecords, HEADER_BYTES, RecordsError, TimestampType};
use crate::{DecodeError, Reader, Writer};

/// Attribute bit 6: the base timestamp is the delete horizon.
const DELETE_HORIZON_BIT: i16 = 0x40;
/// Attribute bits of an empty batch that stay: timestamp type, transactional, control.
const EMPTY_BATCH_BITS: i16 = 0x38;
/// What a batch without records has as base timestamp, and one without timestamps as largest.
const NO_TIMESTAMP: i64 = -1;

impl BatchHeader {
    /// Milliseconds since 1970 from which the batch's tombstones or markers may be removed (KIP-534); `None` until a
    /// first cleaning has set it.
    #[must_use]
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        (self.attributes & DELETE_HORIZON_BIT != 0).then_some(self.base_timestamp)
    }

    /// The batch without its records: 61 bytes that keep its offsets, producer, largest timestamp and kind.
    #[must_use]
    pub fn emptied(&self) -> Bytes {
        let header = Self {
            batch_length: (HEADER_BYTES - 12) as i32,
            attributes: self.attributes & EMPTY_BATCH_BITS,
            base_timestamp: NO_TIMESTAMP,
            record_count: 0,
            ..*self
        };
        let mut batch = vec![0; HEADER_BYTES];
        header.write_to(&mut batch);
        Bytes::from(batch)
    }
}

/// One record, as far as it must be looked into to keep or remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// Its place in the partition.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Its key, which may be null.
    pub key: Option<&'a [u8]>,
    /// Its value; null is a tombstone on compacted topics.
    pub value: Option<&'a [u8]>,
    /// Its bytes from the offset delta on.
    tail: &'a [u8],
}

impl BatchRecords {
    /// Calls `each` with every record in order, until one answers `false`.
    ///
    /// # Errors
    /// [`RecordsError::MalformedRecord`], [`RecordsError::RecordLength`] or [`RecordsError::RecordOffset`] at the
    /// first record that is not one; those before it have been given out.
    pub fn each<'a>(&'a self, mut each: impl FnMut(RecordView<'a>) -> bool) -> Result<(), RecordsError> {
        let mut reader = Reader::new(&self.body);
        let mut delta_before = -1;
        for index in 0..self.header.record_count {
            let (record, delta) = self.read(&mut reader, index)?;
            if delta <= delta_before || delta > self.header.last_offset_delta {
                return Err(RecordsError::RecordOffset { index });
            }
            delta_before = delta;
            if !each(record) {
                return Ok(());
            }
        }
        if reader.remaining() != 0 {
            return Err(RecordsError::RecordLength { index: self.header.record_count });
        }
        Ok(())
    }

    /// One record and its offset delta.
    fn read<'a>(&'a self, reader: &mut Reader<'a>, index: i32) -> Result<(RecordView<'a>, i32), RecordsError> {
        let malformed = |source| RecordsError::MalformedRecord { index, source };
        let length = reader.get_varint().map_err(malformed)?;
        let end = usize::try_from(length).ok().and_then(|length| reader.position().checked_add(length));
        let Some(end) = end.filter(|end| *end <= self.body.len()) else {
            return Err(RecordsError::RecordLength { index });
        };
        reader.get_i8().map_err(malformed)?;
        let timestamp_delta = reader.get_varlong().map_err(malformed)?;
        let tail_start = reader.position();
        let delta = reader.get_varint().map_err(malformed)?;
        let key = blob(reader).map_err(malformed)?;
        let value = blob(reader).map_err(malformed)?;
        // Headers are not looked into: whether the record is kept does not depend on them.
        let Some(headers) = end.checked_sub(reader.position()).filter(|headers| *headers > 0) else {
            return Err(RecordsError::RecordLength { index });
        };
        reader.take(headers).map_err(malformed)?;
        let timestamp = match self.header.timestamp_type() {
            TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(timestamp_delta),
            TimestampType::LogAppendTime => self.header.max_timestamp,
        };
        let offset = self.header.base_offset.wrapping_add(i64::from(delta));
        Ok((RecordView { offset, timestamp, key, value, tail: &self.body[tail_start..end] }, delta))
    }
}

fn blob<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, DecodeError> {
    match reader.get_varint()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| DecodeError::InvalidLength(i64::from(length)))?;
            reader.take(length).map(Some)
        }
    }
}

/// Writes a batch again with the records pushed.
#[derive(Debug)]
pub struct BatchRewriter {
    original: BatchHeader,
    delete_horizon_ms: Option<i64>,
    records: Writer,
    base_timestamp: i64,
    max_timestamp: i64,
    count: i32,
}

impl BatchRewriter {
    /// Begins the successor of the batch with header `original`; `delete_horizon_ms` is the new batch's.
    #[must_use]
    pub fn new(original: &BatchHeader, delete_horizon_ms: Option<i64>) -> Self {
        Self {
            original: *original,
            delete_horizon_ms,
            records: Writer::new(),
            base_timestamp: delete_horizon_ms.unwrap_or(NO_TIMESTAMP),
            max_timestamp: NO_TIMESTAMP,
            count: 0,
        }
    }

    /// Keeps a record of the original batch; records come in the order they had.
    pub fn push(&mut self, record: &RecordView<'_>) {
        if self.count == 0 && self.delete_horizon_ms.is_none() {
            self.base_timestamp = record.timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        self.count += 1;
        let delta = record.timestamp.wrapping_sub(self.base_timestamp);
        self.records.put_varlong((1 + varlong_size(delta) + record.tail.len()) as i64);
        self.records.put_i8(0);
        self.records.put_varlong(delta);
        self.records.put_slice(record.tail);
    }

    /// The new batch, in the original's codec. The largest timestamp is that of the records kept, or, where the
    /// broker set the timestamps, the original's.
    ///
    /// # Errors
    /// [`RecordsError::Compression`] when the codec fails, [`RecordsError::TooLarge`] when a length field cannot
    /// hold the size.
    pub fn finish(self) -> Result<Bytes, RecordsError> {
        let records = self.records.into_bytes();
        let body = self.original.compression()?.compress(&records)?;
        let batch_length = i32::try_from(HEADER_BYTES - 12 + body.len());
        let horizon_bit = if self.delete_horizon_ms.is_some() { DELETE_HORIZON_BIT } else { 0 };
        let header = BatchHeader {
            batch_length: batch_length.map_err(|_| RecordsError::TooLarge(i32::MAX as usize))?,
            attributes: self.original.attributes & !DELETE_HORIZON_BIT | horizon_bit,
            base_timestamp: self.base_timestamp,
            max_timestamp: match self.original.timestamp_type() {
                TimestampType::CreateTime => self.max_timestamp,
                TimestampType::LogAppendTime => self.original.max_timestamp,
            },
            record_count: self.count,
            ..self.original
        };
        let mut batch = BytesMut::zeroed(HEADER_BYTES);
        batch.extend_from_slice(&body);
        header.write_to(&mut batch);
        Ok(batch.freeze())
    }
}
