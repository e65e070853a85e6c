//! Control batches: the markers that end transactions, which a transaction coordinator has written into partitions.
//!
//! ```text
//! batch   attributes transactional and control, no base sequence, one record:
//!   key     int16 version 0 | int16 type: 0 abort, 1 commit; others belong to the metadata quorum
//!   value   int16 version 0 | int32 coordinator epoch
//! ```
//! Newer versions append fields, which are skipped (KIP-98).

#[cfg(test)]
mod tests;

use bytes::Bytes;

use super::record::write_record;
use super::{BatchHeader, Record, RecordsError, read_batch};
use crate::{DecodeError, Reader, Writer};

const VERSION: i16 = 0;
const ABORT: i16 = 0;
const COMMIT: i16 = 1;
/// Attribute bits 4 and 5: transactional, control.
const ATTRIBUTES: i16 = 0x30;

/// What a marker says of its producer's transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTransactionMarker {
    /// Whether the transaction is committed; else it is aborted.
    pub commit: bool,
    /// Epoch of the transaction coordinator that decided it.
    pub coordinator_epoch: i32,
}

/// The batch of one marker, with base offset 0 and without a leader epoch. `timestamp_ms` is milliseconds since 1970.
#[must_use]
pub fn control_batch(producer_id: i64, producer_epoch: i16, timestamp_ms: i64, marker: EndTransactionMarker) -> Bytes {
    let (mut key, mut value, mut body) = (Writer::new(), Writer::new(), Writer::new());
    key.put_i16(VERSION);
    key.put_i16(if marker.commit { COMMIT } else { ABORT });
    value.put_i16(VERSION);
    value.put_i32(marker.coordinator_epoch);
    let record = Record { key: Some(key.into_bytes()), value: Some(value.into_bytes()), ..Record::default() };
    write_record(&mut body, &record, 0, 0);
    let header = BatchHeader {
        base_offset: 0,
        batch_length: 0,
        leader_epoch: -1,
        magic: 2,
        checksum: 0,
        attributes: ATTRIBUTES,
        last_offset_delta: 0,
        base_timestamp: timestamp_ms,
        max_timestamp: timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence: -1,
        record_count: 1,
    };
    header.seal(&body.into_bytes()).1
}

/// The marker in the batch at the front of `batch`; `None` when it is no control batch, one of another type, or one
/// from which compaction has removed the marker.
///
/// # Errors
/// [`RecordsError`] when the batch is truncated, its checksum is wrong, or its record is malformed.
pub fn read_marker(batch: &[u8]) -> Result<Option<EndTransactionMarker>, RecordsError> {
    let header = BatchHeader::parse(batch)?;
    if !header.is_control() {
        return Ok(None);
    }
    let (_, records) = read_batch(&Bytes::copy_from_slice(&batch[..header.size().min(batch.len())]))?;
    let Some(record) = records.first() else { return Ok(None) };
    read_record(record).map_err(|source| RecordsError::MalformedRecord { index: 0, source })
}

fn read_record(record: &Record) -> Result<Option<EndTransactionMarker>, DecodeError> {
    let key = record.key.as_ref().ok_or(DecodeError::InvalidLength(-1))?;
    let mut key = Reader::new(key);
    key.get_i16()?;
    let commit = match key.get_i16()? {
        ABORT => false,
        COMMIT => true,
        _ => return Ok(None),
    };
    let value = record.value.as_ref().ok_or(DecodeError::InvalidLength(-1))?;
    let mut value = Reader::new(value);
    value.get_i16()?;
    Ok(Some(EndTransactionMarker { commit, coordinator_epoch: value.get_i32()? }))
}
