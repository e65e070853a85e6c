//! `<offset>.snapshot`: what the log knew of its idempotent and transactional producers just below that offset.
//!
//! ```text
//!  0 int16  version            1
//!  2 uint32 checksum           CRC-32C of everything from byte 6
//!  6 int32  entries
//! 10 entries, 46 bytes each:
//!     0 int64 producer id
//!     8 int16 producer epoch
//!    10 int32 last sequence    −1 when the producer has written only markers in this epoch
//!    14 int64 last offset      of its last batch of data; −1 as above
//!    22 int32 offset delta     offsets between the first and last record of that batch
//!    26 int64 timestamp        the batch's largest, or the marker's; milliseconds since 1970
//!    34 int32 coordinator epoch    of its last marker; −1 none
//!    38 int64 first offset of its open transaction    −1 none
//! ```

use super::{FormatError, field};

const VERSION: i16 = 1;
/// Version and checksum, which the checksum does not cover.
const PREFIX_BYTES: usize = 6;
const HEADER_BYTES: usize = 10;
const ENTRY_BYTES: usize = 46;

/// One producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProducerSnapshotEntry {
    /// Its id.
    pub(crate) producer_id: i64,
    /// Its epoch.
    pub(crate) producer_epoch: i16,
    /// Sequence number of its last record; −1 for none in this epoch.
    pub(crate) last_sequence: i32,
    /// Offset of its last record; −1 for none in this epoch.
    pub(crate) last_offset: i64,
    /// Last minus first offset of its last batch.
    pub(crate) offset_delta: i32,
    /// When it last wrote, in milliseconds since 1970.
    pub(crate) timestamp: i64,
    /// Epoch of the transaction coordinator that wrote its last marker; −1 for none.
    pub(crate) coordinator_epoch: i32,
    /// First offset of its open transaction; −1 for none.
    pub(crate) current_transaction_first_offset: i64,
}

/// The snapshot file of these producers.
pub(crate) fn encode(entries: &[ProducerSnapshotEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + entries.len() * ENTRY_BYTES);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&[0; 4]);
    let count = i32::try_from(entries.len()).expect("a partition has far fewer than 2³¹ producers");
    bytes.extend_from_slice(&count.to_be_bytes());
    for entry in entries {
        bytes.extend_from_slice(&entry.producer_id.to_be_bytes());
        bytes.extend_from_slice(&entry.producer_epoch.to_be_bytes());
        bytes.extend_from_slice(&entry.last_sequence.to_be_bytes());
        bytes.extend_from_slice(&entry.last_offset.to_be_bytes());
        bytes.extend_from_slice(&entry.offset_delta.to_be_bytes());
        bytes.extend_from_slice(&entry.timestamp.to_be_bytes());
        bytes.extend_from_slice(&entry.coordinator_epoch.to_be_bytes());
        bytes.extend_from_slice(&entry.current_transaction_first_offset.to_be_bytes());
    }
    let checksum = crc32c::crc32c(&bytes[PREFIX_BYTES..]);
    bytes[2..PREFIX_BYTES].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The producers of a snapshot file, given whole.
///
/// # Errors
/// [`FormatError`] of a version, checksum or length that is not right; then nothing in the file is to be believed.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<ProducerSnapshotEntry>, FormatError> {
    let found = bytes.len() as u64;
    let Some((header, entries)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(FormatError::Length { expected: HEADER_BYTES as u64, found });
    };
    let version = i16::from_be_bytes(field(header, 0));
    if version != VERSION {
        return Err(FormatError::Version { expected: VERSION.into(), found: version.into() });
    }
    let (expected, actual) = (u32::from_be_bytes(field(header, 2)), crc32c::crc32c(&bytes[PREFIX_BYTES..]));
    if expected != actual {
        return Err(FormatError::Checksum { expected, actual });
    }
    let count = i32::from_be_bytes(field(header, PREFIX_BYTES));
    let expected = HEADER_BYTES as u64 + u64::from(count.max(0).cast_unsigned()) * ENTRY_BYTES as u64;
    if count < 0 || expected != found {
        return Err(FormatError::Length { expected, found });
    }
    Ok(entries.chunks_exact(ENTRY_BYTES).map(decode_entry).collect())
}

fn decode_entry(entry: &[u8]) -> ProducerSnapshotEntry {
    ProducerSnapshotEntry {
        producer_id: i64::from_be_bytes(field(entry, 0)),
        producer_epoch: i16::from_be_bytes(field(entry, 8)),
        last_sequence: i32::from_be_bytes(field(entry, 10)),
        last_offset: i64::from_be_bytes(field(entry, 14)),
        offset_delta: i32::from_be_bytes(field(entry, 22)),
        timestamp: i64::from_be_bytes(field(entry, 26)),
        coordinator_epoch: i32::from_be_bytes(field(entry, 34)),
        current_transaction_first_offset: i64::from_be_bytes(field(entry, 38)),
    }
}
