//! The records inside a batch.
//!
//! ```text
//! varint length | int8 attributes (unused) | varlong timestamp delta | varint offset delta
//! | varint key length (−1 null) key | varint value length (−1 null) value
//! | varint header count, each: varint key length key, varint value length (−1 null) value
//! ```

use std::sync::Arc;

use bytes::Bytes;

use super::{BatchHeader, BatchRecords, RecordsError, TimestampType};
use crate::{DecodeError, Reader, Writer};

/// What one batch may decompress to, in bytes: about Kafka's largest useful batch, a bound for hostile ones.
pub const DECOMPRESSED_BYTES_MAX: usize = 128 << 20;

/// Records that memory is reserved for before any was read.
const RESERVED_RECORDS_MAX: usize = 1024;

/// A header of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordHeader {
    /// Its name; names may repeat.
    pub key: Arc<str>,
    /// Its value, which may be null.
    pub value: Option<Bytes>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Its place in the partition; builders set it themselves.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// Its key, which may be null.
    pub key: Option<Bytes>,
    /// Its value; null is a tombstone on compacted topics.
    pub value: Option<Bytes>,
    /// Headers in order.
    pub headers: Vec<RecordHeader>,
}

/// The header and records of the batch at the front of `batch`, decompressed.
///
/// # Errors
/// [`RecordsError`] when the batch is truncated, its checksum is wrong or its records are malformed.
pub fn read_batch(batch: &Bytes) -> Result<(BatchHeader, Vec<Record>), RecordsError> {
    let header = BatchHeader::verify(batch)?;
    let inside = BatchRecords::decompress(&header, batch)?;
    // The count is a claim, and a record takes a hundred bytes here where it has seven there.
    let count = usize::try_from(header.record_count).unwrap_or(0).min(RESERVED_RECORDS_MAX);
    let mut records = Vec::with_capacity(count);
    for record in &inside {
        records.push(record?);
    }
    Ok((header, records))
}

/// Reads the record that begins where `reader` stands.
pub(super) fn read_record(reader: &mut Reader<'_>, header: &BatchHeader, index: i32) -> Result<Record, RecordsError> {
    let malformed = |source| RecordsError::MalformedRecord { index, source };
    let length = reader.get_varint().map_err(malformed)?;
    let start = reader.position();
    let record = read_fields(reader, header).map_err(malformed)?;
    if i64::from(length) != (reader.position() - start) as i64 {
        return Err(RecordsError::RecordLength { index });
    }
    Ok(record)
}

fn read_fields(reader: &mut Reader<'_>, header: &BatchHeader) -> Result<Record, DecodeError> {
    reader.get_i8()?;
    let timestamp_delta = reader.get_varlong()?;
    let offset_delta = reader.get_varint()?;
    let key = read_bytes(reader)?;
    let value = read_bytes(reader)?;
    let count = reader.get_varint()?;
    let count = usize::try_from(count).map_err(|_| DecodeError::InvalidLength(i64::from(count)))?;
    let left = reader.remaining();
    if count > left / 2 {
        return Err(DecodeError::ArrayTooLong { count, left });
    }
    let mut headers = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let key = read_bytes(reader)?.ok_or(DecodeError::InvalidLength(-1))?;
        let key = std::str::from_utf8(&key).map_err(|_| DecodeError::InvalidUtf8)?.into();
        headers.push(RecordHeader { key, value: read_bytes(reader)? });
    }
    let timestamp = match header.timestamp_type() {
        TimestampType::CreateTime => header.base_timestamp.wrapping_add(timestamp_delta),
        TimestampType::LogAppendTime => header.max_timestamp,
    };
    let offset = header.base_offset.wrapping_add(i64::from(offset_delta));
    Ok(Record { offset, timestamp, key, value, headers })
}

fn read_bytes(reader: &mut Reader<'_>) -> Result<Option<Bytes>, DecodeError> {
    match reader.get_varint()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| DecodeError::InvalidLength(i64::from(length)))?;
            reader.take_bytes(length).map(Some)
        }
    }
}

/// Appends one record with its length.
pub(super) fn write_record(writer: &mut Writer, record: &Record, offset_delta: i32, timestamp_delta: i64) {
    let size = 1
        + varlong_size(timestamp_delta)
        + varlong_size(i64::from(offset_delta))
        + bytes_size(record.key.as_deref())
        + bytes_size(record.value.as_deref())
        + varlong_size(record.headers.len() as i64)
        + record
            .headers
            .iter()
            .map(|header| bytes_size(Some(header.key.as_bytes())) + bytes_size(header.value.as_deref()))
            .sum::<usize>();
    writer.put_varlong(size as i64);
    writer.put_i8(0);
    writer.put_varlong(timestamp_delta);
    writer.put_varint(offset_delta);
    write_bytes(writer, record.key.as_deref());
    write_bytes(writer, record.value.as_deref());
    writer.put_varlong(record.headers.len() as i64);
    for header in &record.headers {
        write_bytes(writer, Some(header.key.as_bytes()));
        write_bytes(writer, header.value.as_deref());
    }
}

fn write_bytes(writer: &mut Writer, bytes: Option<&[u8]>) {
    match bytes {
        None => writer.put_varint(-1),
        Some(bytes) => {
            writer.put_varlong(bytes.len() as i64);
            writer.put_slice(bytes);
        }
    }
}

fn bytes_size(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varlong_size(bytes.len() as i64) + bytes.len())
}

/// Bytes of a zigzag variable-length integer.
pub(super) fn varlong_size(value: i64) -> usize {
    let zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    (64 - (zigzag | 1).leading_zeros() as usize).div_ceil(7)
}
