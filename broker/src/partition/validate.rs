//! What a produced batch must look like, judged by its header, and by its keys where the topic is compacted.

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchHeader, Compression, HEADER_BYTES, RecordsError, TimestampType, read_batch};
use thiserror::Error;

/// What decides whether a batch is let in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admission {
    /// `max.message.bytes`: the largest batch.
    pub(crate) batch_bytes_max: usize,
    /// Whether every record needs a key.
    pub(crate) keys_required: bool,
    /// How far a timestamp may be behind the broker's clock, in milliseconds.
    pub(crate) timestamp_before_ms_max: i64,
    /// How far a timestamp may be ahead of the broker's clock, in milliseconds.
    pub(crate) timestamp_after_ms_max: i64,
    /// The broker's clock, milliseconds since 1970.
    pub(crate) now_ms: i64,
    /// The version of the Produce request, which decides about zstd.
    pub(crate) produce_version: i16,
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
}

/// The header of the one batch in `records`, when it may be appended.
///
/// # Errors
/// [`Rejection`] with the protocol's code for what is wrong.
pub(crate) fn admit(records: &Bytes, admission: &Admission) -> Result<BatchHeader, Rejection> {
    let header = one_whole_batch(records)?;
    if records.len() > admission.batch_bytes_max {
        let message =
            format!("batch of {} bytes is over max.message.bytes={}", records.len(), admission.batch_bytes_max);
        return Err(Rejection::new(ErrorCode::MessageTooLarge, message));
    }
    check_fields(&header)?;
    let compression =
        header.compression().map_err(|error| Rejection::new(ErrorCode::InvalidRecord, error.to_string()))?;
    if compression == Compression::Zstd && admission.produce_version < 7 {
        return Err(Rejection::new(ErrorCode::UnsupportedCompressionType, "zstd needs Produce version 7"));
    }
    check_timestamps(&header, admission)?;
    if admission.keys_required {
        check_keys(records)?;
    }
    Ok(header)
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

fn check_timestamps(header: &BatchHeader, admission: &Admission) -> Result<(), Rejection> {
    let invalid = |message: String| Err(Rejection::new(ErrorCode::InvalidTimestamp, message));
    if header.timestamp_type() == TimestampType::LogAppendTime {
        return invalid("only the broker sets LogAppendTime".to_owned());
    }
    let timestamp = header.max_timestamp;
    if timestamp < -1 {
        return invalid(format!("timestamp {timestamp} is negative"));
    }
    if timestamp >= 0 && timestamp > admission.now_ms.saturating_add(admission.timestamp_after_ms_max) {
        return invalid(format!("timestamp {timestamp} is too far ahead of the broker's clock"));
    }
    if timestamp >= 0 && timestamp < admission.now_ms.saturating_sub(admission.timestamp_before_ms_max) {
        return invalid(format!("timestamp {timestamp} is too far behind the broker's clock"));
    }
    Ok(())
}

fn check_keys(records: &Bytes) -> Result<(), Rejection> {
    let (_, records) =
        read_batch(records).map_err(|error| Rejection::new(ErrorCode::InvalidRecord, error.to_string()))?;
    let keyless: Vec<i32> =
        (0..).zip(&records).filter(|(_, record)| record.key.is_none()).map(|(index, _)| index).collect();
    if keyless.is_empty() {
        return Ok(());
    }
    let message = "records on a compacted topic need a key".to_owned();
    Err(Rejection { code: ErrorCode::InvalidRecord, message, records: keyless })
}
