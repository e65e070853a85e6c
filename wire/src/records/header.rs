//! The header of a record batch.
//!
//! ```text
//!  0 int64 base offset              stamped by the broker, outside the checksum
//!  8 int32 batch length             bytes behind this field
//! 12 int32 partition leader epoch   stamped by the broker, outside the checksum
//! 16 int8  magic                    2
//! 17 uint32 checksum                CRC-32C of everything from byte 21
//! 21 int16 attributes               0–2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
//! 23 int32 last offset delta
//! 27 int64 base timestamp           milliseconds since 1970
//! 35 int64 max timestamp
//! 43 int64 producer id              −1 when the producer is not idempotent
//! 51 int16 producer epoch
//! 53 int32 base sequence
//! 57 int32 record count
//! 61 records
//! ```

use bytes::{Bytes, BytesMut};

use super::{Compression, RecordsError};

/// Bytes of a batch header.
pub const HEADER_BYTES: usize = 61;
/// Bytes at the front that a broker rewrites: base offset, length and leader epoch.
pub const STAMPED_BYTES: usize = 16;
/// Where the checksummed part begins.
const CHECKSUMMED_FROM: usize = 21;
/// Bytes of the base offset and batch length, which the batch length does not count.
const PREFIX_BYTES: usize = 12;

/// Attribute bits.
const CODEC: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;

/// What a record's timestamp means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// Set by the producer.
    CreateTime,
    /// Set by the broker at the append.
    LogAppendTime,
}

/// A parsed batch header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "drawn byte by byte above")]
pub struct BatchHeader {
    pub base_offset: i64,
    pub batch_length: i32,
    pub leader_epoch: i32,
    pub magic: i8,
    pub checksum: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    pub record_count: i32,
}

impl BatchHeader {
    /// Parses the header at the front of `bytes`, which may hold less than the whole batch.
    ///
    /// # Errors
    /// [`RecordsError`] when there are fewer than [`HEADER_BYTES`], the length is below the header's own, or the
    /// magic is not 2. The checksum is not looked at: see [`BatchHeader::verify`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordsError> {
        let left = bytes.len();
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(RecordsError::Truncated { needed: HEADER_BYTES, left });
        };
        let header = Self {
            base_offset: i64::from_be_bytes(field(bytes, 0)),
            batch_length: i32::from_be_bytes(field(bytes, 8)),
            leader_epoch: i32::from_be_bytes(field(bytes, 12)),
            magic: i8::from_be_bytes(field(bytes, 16)),
            checksum: u32::from_be_bytes(field(bytes, 17)),
            attributes: i16::from_be_bytes(field(bytes, 21)),
            last_offset_delta: i32::from_be_bytes(field(bytes, 23)),
            base_timestamp: i64::from_be_bytes(field(bytes, 27)),
            max_timestamp: i64::from_be_bytes(field(bytes, 35)),
            producer_id: i64::from_be_bytes(field(bytes, 43)),
            producer_epoch: i16::from_be_bytes(field(bytes, 51)),
            base_sequence: i32::from_be_bytes(field(bytes, 53)),
            record_count: i32::from_be_bytes(field(bytes, 57)),
        };
        if header.magic != 2 {
            return Err(RecordsError::UnsupportedMagic(header.magic));
        }
        if header.batch_length < (HEADER_BYTES - PREFIX_BYTES) as i32 {
            return Err(RecordsError::LengthTooSmall(header.batch_length));
        }
        Ok(header)
    }

    /// Parses the header and checks that `bytes` holds the whole batch with the checksum it claims.
    ///
    /// # Errors
    /// As [`BatchHeader::parse`], and [`RecordsError::Truncated`] or [`RecordsError::ChecksumMismatch`].
    pub fn verify(bytes: &[u8]) -> Result<Self, RecordsError> {
        let header = Self::parse(bytes)?;
        let size = header.size();
        let Some(batch) = bytes.get(..size) else {
            return Err(RecordsError::Truncated { needed: size, left: bytes.len() });
        };
        let actual = crc32c::crc32c(&batch[CHECKSUMMED_FROM..]);
        if actual != header.checksum {
            return Err(RecordsError::ChecksumMismatch { expected: header.checksum, actual });
        }
        Ok(header)
    }

    /// Bytes of the whole batch, header included.
    #[must_use]
    pub fn size(&self) -> usize {
        PREFIX_BYTES + usize::try_from(self.batch_length).unwrap_or(0)
    }

    /// Offset of the last record, also where compaction removed it.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta)
    }

    /// Offset behind the last record.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.last_offset() + 1
    }

    /// Sequence number of the last record; sequences wrap from `i32::MAX` to 0.
    #[must_use]
    pub fn last_sequence(&self) -> i32 {
        advance_sequence(self.base_sequence, self.last_offset_delta)
    }

    /// The codec of the records.
    ///
    /// # Errors
    /// [`RecordsError::UnknownCompression`].
    pub fn compression(&self) -> Result<Compression, RecordsError> {
        Compression::from_attributes(self.attributes)
    }

    /// What the timestamps mean.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes & LOG_APPEND_TIME == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Whether the batch is part of a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Whether the batch holds a marker instead of records.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// The first [`STAMPED_BYTES`] of the batch once it has its place in a partition.
    #[must_use]
    pub fn stamp(&self, base_offset: i64, leader_epoch: i32) -> [u8; STAMPED_BYTES] {
        let mut stamp = [0; STAMPED_BYTES];
        stamp[..8].copy_from_slice(&base_offset.to_be_bytes());
        stamp[8..12].copy_from_slice(&self.batch_length.to_be_bytes());
        stamp[12..].copy_from_slice(&leader_epoch.to_be_bytes());
        stamp
    }

    /// This header with the append's time as LogAppendTime: it then stands for every record's, as readers take the max
    /// timestamp. The base timestamp stays, for the records' bytes count from it.
    #[must_use]
    pub fn with_append_time(self, append_time_ms: i64) -> Self {
        Self { attributes: self.attributes | LOG_APPEND_TIME, max_timestamp: append_time_ms, ..self }
    }

    /// This header with another codec named.
    #[must_use]
    pub fn with_compression(self, compression: Compression) -> Self {
        Self { attributes: self.attributes & !CODEC | compression.attribute_bits(), ..self }
    }

    /// A whole batch of this header and the records' bytes behind it, and the header as it stands there: with length
    /// and checksum made right.
    #[must_use]
    pub fn seal(self, body: &[u8]) -> (Self, Bytes) {
        let batch_length = (HEADER_BYTES - PREFIX_BYTES + body.len()) as i32;
        let mut header = Self { batch_length, ..self };
        let mut batch = BytesMut::with_capacity(HEADER_BYTES + body.len());
        batch.extend_from_slice(&[0; HEADER_BYTES]);
        batch.extend_from_slice(body);
        header.checksum = header.write_to(&mut batch);
        (header, batch.freeze())
    }

    /// Writes the header and its checksum over the front of `batch`, whose records stand from byte 61; tells the
    /// checksum.
    pub(super) fn write_to(&self, batch: &mut [u8]) -> u32 {
        batch[..8].copy_from_slice(&self.base_offset.to_be_bytes());
        batch[8..12].copy_from_slice(&self.batch_length.to_be_bytes());
        batch[12..16].copy_from_slice(&self.leader_epoch.to_be_bytes());
        batch[16] = self.magic.cast_unsigned();
        batch[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        batch[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        batch[27..35].copy_from_slice(&self.base_timestamp.to_be_bytes());
        batch[35..43].copy_from_slice(&self.max_timestamp.to_be_bytes());
        batch[43..51].copy_from_slice(&self.producer_id.to_be_bytes());
        batch[51..53].copy_from_slice(&self.producer_epoch.to_be_bytes());
        batch[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        batch[57..61].copy_from_slice(&self.record_count.to_be_bytes());
        let checksum = crc32c::crc32c(&batch[CHECKSUMMED_FROM..]);
        batch[17..21].copy_from_slice(&checksum.to_be_bytes());
        checksum
    }
}

/// `count` sequence numbers after `sequence`: they run from 0 to `i32::MAX` and start over.
#[must_use]
pub fn advance_sequence(sequence: i32, count: i32) -> i32 {
    let sum = i64::from(sequence) + i64::from(count);
    (sum & i64::from(i32::MAX)) as i32
}

fn field<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}
