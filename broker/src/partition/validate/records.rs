//! What is judged record by record, and the codec a batch is kept in.

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchHeader, BatchRecords, Compression, DECOMPRESSED_BYTES_MAX, Record};

use super::{Admission, Rejection};

/// Records at fault that an answer names at most: a small request may hold millions.
pub(super) const RECORDS_NAMED_MAX: usize = 1_000;

/// What is known of a batch's records once each was looked at.
pub(super) struct Inside {
    /// Their bytes, decompressed.
    pub(super) body: Bytes,
    /// The largest timestamp among them, whatever the header says.
    pub(super) max_timestamp: i64,
}

/// Looks at each record of a batch whose header is found good.
pub(super) fn look_inside(header: &BatchHeader, batch: &Bytes, admission: &Admission) -> Result<Inside, Rejection> {
    let bytes_max = admission.decompressed_bytes_max.min(DECOMPRESSED_BYTES_MAX);
    let inside = BatchRecords::decompress_within(header, batch, bytes_max);
    let inside = inside.map_err(|error| Rejection::invalid(&error))?;
    let mut max_timestamp = -1;
    let (mut keyless, mut out_of_range) = (Vec::new(), Vec::new());
    for (index, record) in (0..).zip(&inside) {
        let record = record.map_err(|error| Rejection::invalid(&error))?;
        check_offset(&record, index)?;
        max_timestamp = record.timestamp.max(max_timestamp);
        if admission.keys_required && record.key.is_none() && keyless.len() < RECORDS_NAMED_MAX {
            keyless.push(index);
        }
        let limited = admission.takes_producers_time();
        if limited && !admission.is_in_range(record.timestamp) && out_of_range.len() < RECORDS_NAMED_MAX {
            out_of_range.push(index);
        }
    }
    if !out_of_range.is_empty() {
        let (code, message) = (ErrorCode::InvalidTimestamp, self::out_of_range(admission));
        return Err(Rejection { code, message, records: out_of_range });
    }
    if !keyless.is_empty() {
        let message = "records on a compacted topic need a key".to_owned();
        return Err(Rejection { code: ErrorCode::InvalidRecord, message, records: keyless });
    }
    Ok(Inside { body: inside.body().clone(), max_timestamp })
}

fn check_offset(record: &Record, index: i32) -> Result<(), Rejection> {
    if record.offset == i64::from(index) {
        return Ok(());
    }
    let message = format!("record {index} of the batch says it is record {}", record.offset);
    Err(Rejection { code: ErrorCode::InvalidRecord, message, records: vec![index] })
}

/// What is said of a timestamp too far from the broker's clock.
pub(super) fn out_of_range(admission: &Admission) -> String {
    let Admission { timestamp_before_ms_max: before, timestamp_after_ms_max: after, .. } = admission;
    format!(
        "a timestamp is too far from the broker's clock: more than message.timestamp.before.max.ms={before} behind or \
         message.timestamp.after.max.ms={after} ahead"
    )
}

/// The records' bytes in another codec.
pub(super) fn compress(body: Bytes, codec: Compression, level: Option<i32>) -> Result<Bytes, Rejection> {
    if codec == Compression::None {
        return Ok(body);
    }
    let compressed = codec.compress_at(level, &body);
    let compressed = compressed.map_err(|error| Rejection::new(ErrorCode::UnknownServerError, error.to_string()))?;
    Ok(Bytes::from(compressed.into_owned()))
}
