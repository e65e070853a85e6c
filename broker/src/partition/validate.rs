//! What a produced batch must look like, and how it is kept: the way of a batch from the request to the log.
//!
//! Most batches are judged by their header alone and appended as they came. Records are looked into where the topic
//! needs keys, limits the age of timestamps, or keeps another codec; a batch changes only by its topic's
//! `compression.type` and `message.timestamp.type`, never in its producer's id, epoch and sequence.

mod records;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchHeader, Compression, HEADER_BYTES, RecordsError, TimestampType};
use thiserror::Error;

/// The largest uncompressed batch whose records are looked at on the event loop: some hundred records of 1 KiB.
const LOOKED_AT_BYTES_MAX: usize = 64 << 10;

/// What decides whether a batch is let in, and how it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admission {
    /// `max.message.bytes`: the largest batch, as it came and as it is kept.
    pub(crate) batch_bytes_max: usize,
    /// `max.decompressed.message.bytes`: the largest batch once it is decompressed, where it is looked into.
    pub(crate) decompressed_bytes_max: usize,
    /// Whether every record needs a key.
    pub(crate) keys_required: bool,
    /// `message.timestamp.type`: whether the append's time replaces the producer's.
    pub(crate) timestamp_type: TimestampType,
    /// How far a producer's timestamp may be behind the broker's clock, in milliseconds.
    pub(crate) timestamp_before_ms_max: i64,
    /// How far a producer's timestamp may be ahead of the broker's clock, in milliseconds.
    pub(crate) timestamp_after_ms_max: i64,
    /// `compression.type`: the codec batches are kept in; `None` keeps the producer's.
    pub(crate) compression: Option<Compression>,
    /// The level to compress with; `None` for the codec's default.
    pub(crate) compression_level: Option<i32>,
    /// The broker's clock, milliseconds since 1970.
    pub(crate) now_ms: i64,
    /// The version of the Produce request, which decides about zstd.
    pub(crate) produce_version: i16,
}

impl Admission {
    /// Whether admitting `records` takes longer than an event loop may: decompressing or compressing them, for a small
    /// batch may hold very much, or looking at each record of a large one.
    pub(crate) fn takes_long(&self, records: &[u8]) -> bool {
        // A batch too short to have attributes is refused by its header.
        let Some(front) = records.first_chunk::<HEADER_BYTES>() else { return false };
        let attributes = i16::from_be_bytes([front[21], front[22]]);
        let sent = Compression::from_attributes(attributes).unwrap_or_default();
        let recompressed = sent != self.compression.unwrap_or(sent);
        let is_large = sent != Compression::None || records.len() > LOOKED_AT_BYTES_MAX;
        recompressed || is_large && self.looks_inside()
    }

    /// Whether single records decide.
    fn looks_inside(&self) -> bool {
        self.keys_required || self.takes_producers_time() && self.timestamp_before_ms_max != i64::MAX
    }

    fn takes_producers_time(&self) -> bool {
        self.timestamp_type == TimestampType::CreateTime
    }

    /// Whether a producer's timestamp is near enough to the broker's clock; −1 stands for none.
    fn is_in_range(&self, timestamp: i64) -> bool {
        let oldest = self.now_ms.saturating_sub(self.timestamp_before_ms_max);
        let newest = self.now_ms.saturating_add(self.timestamp_after_ms_max);
        timestamp == -1 || (oldest..=newest).contains(&timestamp)
    }
}

/// A batch that is not let in.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Rejection {
    /// What the producer is answered.
    pub(crate) code: ErrorCode,
    /// Why, for a person.
    pub(crate) message: String,
    /// Positions of the records at fault, where only some are.
    pub(crate) records: Vec<i32>,
}

impl Rejection {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), records: Vec::new() }
    }

    fn invalid(error: &RecordsError) -> Self {
        Self::new(ErrorCode::InvalidRecord, error.to_string())
    }
}

/// The one batch in `records` as it is to be appended, with its header; the same bytes where nothing changes.
///
/// # Errors
/// [`Rejection`] with the protocol's code for what is wrong.
pub(crate) fn admit(records: &Bytes, admission: &Admission) -> Result<(BatchHeader, Bytes), Rejection> {
    let header = one_whole_batch(records)?;
    check_size(records.len(), admission)?;
    check_fields(&header)?;
    let sent = header.compression().map_err(|error| Rejection::invalid(&error))?;
    if sent == Compression::Zstd && admission.produce_version < 7 {
        return Err(Rejection::new(ErrorCode::UnsupportedCompressionType, "zstd needs Produce version 7"));
    }
    check_timestamps(&header, admission)?;
    let kept = admission.compression.unwrap_or(sent);
    let mut admitted = header.with_compression(kept);
    let mut body = records.slice(HEADER_BYTES..);
    if kept != sent || admission.looks_inside() {
        let inside = records::look_inside(&header, records, admission)?;
        if admission.takes_producers_time() {
            admitted.max_timestamp = inside.max_timestamp;
        }
        if kept != sent {
            body = records::compress(inside.body, kept, admission.compression_level)?;
        }
    }
    if !admission.takes_producers_time() {
        admitted = admitted.with_append_time(admission.now_ms);
    }
    if admitted == header {
        return Ok((header, records.clone()));
    }
    check_size(HEADER_BYTES + body.len(), admission)?;
    Ok(admitted.seal(&body))
}

fn one_whole_batch(records: &Bytes) -> Result<BatchHeader, Rejection> {
    let invalid = |message: &str| Rejection::new(ErrorCode::InvalidRecord, message);
    if records.len() < HEADER_BYTES {
        return match (records.get(8..12), records.get(16)) {
            (Some(length), _) if i32::from_be_bytes([length[0], length[1], length[2], length[3]]) < 14 => {
                Err(Rejection::new(ErrorCode::CorruptMessage, "batch length is below any format's header"))
            }
            (_, Some(magic)) if *magic > 2 => Err(Rejection::new(ErrorCode::CorruptMessage, "magic is above 2")),
            _ => Err(invalid("a partition needs one whole record batch")),
        };
    }
    let header = BatchHeader::parse(records).map_err(|error| match error {
        RecordsError::UnsupportedMagic(0 | 1) => invalid("only record format v2 is taken"),
        other => Rejection::new(ErrorCode::CorruptMessage, other.to_string()),
    })?;
    if header.size() > records.len() {
        return Err(invalid("the record batch is cut off"));
    }
    if header.size() < records.len() {
        return Err(invalid("a partition takes exactly one record batch a request"));
    }
    BatchHeader::verify(records).map_err(|error| Rejection::new(ErrorCode::CorruptMessage, error.to_string()))
}

fn check_fields(header: &BatchHeader) -> Result<(), Rejection> {
    let problem = if header.base_offset != 0 {
        "base offset is not 0"
    } else if header.record_count <= 0 {
        "record count is not above 0"
    } else if header.last_offset_delta != header.record_count - 1 {
        "record count does not match the offsets"
    } else if header.is_control() {
        "control batches come from brokers only"
    } else if header.producer_id >= 0 && header.base_sequence < 0 {
        "an idempotent producer's batch has no sequence number"
    } else if header.producer_id >= 0 && header.producer_epoch < 0 {
        "an idempotent producer's batch has no epoch"
    } else {
        return Ok(());
    };
    Err(Rejection::new(ErrorCode::InvalidRecord, problem))
}

fn check_size(size: usize, admission: &Admission) -> Result<(), Rejection> {
    let limit = admission.batch_bytes_max;
    if size > limit {
        let message = format!("batch of {size} bytes is over max.message.bytes={limit}");
        return Err(Rejection::new(ErrorCode::MessageTooLarge, message));
    }
    Ok(())
}

fn check_timestamps(header: &BatchHeader, admission: &Admission) -> Result<(), Rejection> {
    let invalid = |message: String| Err(Rejection::new(ErrorCode::InvalidTimestamp, message));
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return invalid("only the broker sets LogAppendTime".to_owned());
    }
    let timestamp = header.max_timestamp;
    if !admission.takes_producers_time() {
        return Ok(());
    }
    if timestamp < -1 {
        return invalid(format!("timestamp {timestamp} is negative"));
    }
    if !admission.is_in_range(timestamp) {
        return invalid(records::out_of_range(admission));
    }
    Ok(())
}
