//! A progress record's bytes. Pure.
//!
//! ```text
//! key:   the slot's name, UTF-8
//! value: int16 version (1)      int32 timeline      int64 commit LSN   int64 ordinal   int64 end LSN
//!        int16 length, system id     int32 length or -1, last event id     int32 length or -1, snapshot
//! ```
//!
//! Numbers are big-endian, as everywhere in Kafka's formats. A version that is not known is refused: what a newer
//! connector wrote may mean that rows are published which this one would publish again.

use bytes::{Buf, BufMut, Bytes};
use thiserror::Error;

use super::Progress;
use crate::lsn::Lsn;

/// The version written, and the only one there has been.
const VERSION: i16 = 1;
/// Longest system id, event id and snapshot; more is not what we wrote.
const TEXT_LENGTH_MAX: usize = 1 << 20;

/// Bytes that are not a progress record.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum RecordError {
    /// A later connector's.
    #[error("it has version {0}; this pillion knows version 1: run the newer one that wrote it")]
    Version(i16),
    /// Cut short, too long, or a text that is none.
    #[error("its {0} cannot be read: something else than pillion has written to the topic")]
    Malformed(&'static str),
}

/// The record's value.
pub(crate) fn encode(progress: &Progress) -> Bytes {
    let mut value = Vec::with_capacity(64 + progress.system_id.len());
    value.put_i16(VERSION);
    value.put_u32(progress.timeline);
    value.put_u64(progress.commit_lsn.as_u64());
    value.put_u64(progress.ordinal);
    value.put_u64(progress.end_lsn.as_u64());
    // A system id has twenty digits.
    let system_id = &progress.system_id.as_bytes()[..progress.system_id.len().min(i16::MAX as usize)];
    value.put_i16(system_id.len() as i16);
    value.put_slice(system_id);
    put_optional(&mut value, progress.last_event_id.as_deref());
    put_optional(&mut value, progress.snapshot.as_deref().map(str::as_bytes));
    value.into()
}

/// What a record's value says.
///
/// # Errors
/// [`RecordError`].
pub(crate) fn decode(value: &[u8]) -> Result<Progress, RecordError> {
    let mut rest = value;
    let version = rest.try_get_i16().map_err(|_| RecordError::Malformed("version"))?;
    if version != VERSION {
        return Err(RecordError::Version(version));
    }
    let timeline = rest.try_get_u32().map_err(|_| RecordError::Malformed("timeline"))?;
    let mut number = |field| rest.try_get_u64().map_err(|_| RecordError::Malformed(field));
    let commit_lsn = Lsn::new(number("commit LSN")?);
    let ordinal = number("ordinal")?;
    let end_lsn = Lsn::new(number("end LSN")?);
    let length = rest.try_get_i16().map_err(|_| RecordError::Malformed("system id"))?;
    let system_id = text(take(&mut rest, length.into(), "system id")?, "system id")?;
    let last_event_id = optional(&mut rest, "last event id")?.map(Bytes::copy_from_slice);
    let snapshot = optional(&mut rest, "snapshot")?.map(|bytes| text(bytes, "snapshot")).transpose()?;
    if !rest.is_empty() {
        return Err(RecordError::Malformed("end"));
    }
    Ok(Progress { system_id, timeline, commit_lsn, ordinal, end_lsn, last_event_id, snapshot })
}

fn put_optional(value: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else { return value.put_i32(-1) };
    let bytes = &bytes[..bytes.len().min(TEXT_LENGTH_MAX)];
    value.put_i32(bytes.len() as i32);
    value.put_slice(bytes);
}

fn optional<'v>(rest: &mut &'v [u8], field: &'static str) -> Result<Option<&'v [u8]>, RecordError> {
    match rest.try_get_i32().map_err(|_| RecordError::Malformed(field))? {
        -1 => Ok(None),
        length => take(rest, length, field).map(Some),
    }
}

fn take<'v>(rest: &mut &'v [u8], length: i32, field: &'static str) -> Result<&'v [u8], RecordError> {
    let length = usize::try_from(length).ok().filter(|length| *length <= TEXT_LENGTH_MAX);
    let taken = length.and_then(|length| rest.split_at_checked(length));
    let (taken, after) = taken.ok_or(RecordError::Malformed(field))?;
    *rest = after;
    Ok(taken)
}

fn text(bytes: &[u8], field: &'static str) -> Result<String, RecordError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| RecordError::Malformed(field))
}
