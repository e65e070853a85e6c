//! Offset, time and transaction indexes: their entries with absolute offsets, and what is wrong with them by themselves.

use std::path::Path;

use super::finding::{Findings, REBUILT};
use super::{InspectError, small_file};
use crate::log::format::offset_index::OffsetIndexEntry;
use crate::log::format::time_index::TimeIndexEntry;
use crate::log::format::transaction_index::AbortedTransaction;
use crate::log::format::{offset_index, time_index, transaction_index};

/// An entry of an offset index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetEntry {
    /// Where the entry stands in its file.
    pub(super) at: u64,
    /// Of the last record of a batch.
    pub(super) offset: i64,
    /// Where that batch begins in the segment.
    pub(super) position: u64,
}

/// An entry of a time index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeEntry {
    /// Where the entry stands in its file.
    pub(super) at: u64,
    /// Milliseconds since 1970.
    pub(super) timestamp: i64,
    /// Of the record that has it.
    pub(super) offset: i64,
}

/// The entries of an offset index that are in order; what is wrong goes to `findings`.
pub(super) fn offset_entries(
    path: &Path,
    base_offset: i64,
    findings: &mut Findings,
) -> Result<Vec<OffsetEntry>, InspectError> {
    let mut entries: Vec<OffsetEntry> = Vec::new();
    for (at, bytes) in fixed::<{ offset_index::ENTRY_BYTES }>(&small_file::read(path)?, findings) {
        let OffsetIndexEntry { relative_offset, position } = OffsetIndexEntry::decode(bytes);
        let offset = base_offset.saturating_add(relative_offset.into());
        let entry = OffsetEntry { at, offset, position: position.into() };
        match entries.last() {
            Some(last) if last.offset >= entry.offset || last.position >= entry.position => findings.repairable(
                at,
                format!("offset {offset} at {position} stands behind offset {} at {}", last.offset, last.position),
                REBUILT,
            ),
            _ => entries.push(entry),
        }
    }
    Ok(entries)
}

/// The entries of a time index that are in order; what is wrong goes to `findings`.
pub(super) fn time_entries(
    path: &Path,
    base_offset: i64,
    findings: &mut Findings,
) -> Result<Vec<TimeEntry>, InspectError> {
    let mut entries: Vec<TimeEntry> = Vec::new();
    for (at, bytes) in fixed::<{ time_index::ENTRY_BYTES }>(&small_file::read(path)?, findings) {
        let TimeIndexEntry { timestamp, relative_offset } = TimeIndexEntry::decode(bytes);
        let offset = base_offset.saturating_add(relative_offset.into());
        match entries.last() {
            Some(last) if last.timestamp >= timestamp || last.offset > offset => findings.repairable(
                at,
                format!("timestamp {timestamp} of offset {offset} stands behind {} of {}", last.timestamp, last.offset),
                REBUILT,
            ),
            _ => entries.push(TimeEntry { at, timestamp, offset }),
        }
    }
    Ok(entries)
}

/// The entries of a transaction index, each with its place; what is wrong goes to `findings`.
pub(super) fn aborted_transactions(
    path: &Path,
    findings: &mut Findings,
) -> Result<Vec<(u64, AbortedTransaction)>, InspectError> {
    let mut entries: Vec<(u64, AbortedTransaction)> = Vec::new();
    for (at, bytes) in fixed::<{ transaction_index::ENTRY_BYTES }>(&small_file::read(path)?, findings) {
        match AbortedTransaction::decode(bytes) {
            Err(error) => findings.repairable(at, error.to_string(), REBUILT),
            Ok(entry) => {
                let AbortedTransaction { first_offset, last_offset, .. } = entry;
                let behind = entries.last().map_or(-1, |(_, last)| last.last_offset);
                if first_offset >= last_offset || last_offset <= behind {
                    let what = format!("a transaction from offset {first_offset} to {last_offset} behind {behind}");
                    findings.repairable(at, what, REBUILT);
                }
                entries.push((at, entry));
            }
        }
    }
    Ok(entries)
}

/// The entries of `N` bytes each, with their places. Zeroes at the end are room for more.
fn fixed<const N: usize>(bytes: &[u8], findings: &mut Findings) -> Vec<(u64, [u8; N])> {
    let (entries, rest) = bytes.as_chunks::<N>();
    let used = entries.iter().rposition(|entry| entry != &[0; N]).map_or(0, |last| last + 1);
    let places = (0_u64..).step_by(N);
    if rest.iter().any(|byte| *byte != 0) {
        let at = (entries.len() * N) as u64;
        findings.repairable(at, format!("{} bytes where an entry of {N} belongs", rest.len()), REBUILT);
    }
    if used < entries.len() {
        let at = (used * N) as u64;
        findings.note(at, format!("room for {} more entries", entries.len() - used), "nothing: it is in use, or was");
    }
    places.zip(entries[..used].iter().copied()).collect()
}
