//! One batch without the records that compaction removes.
//!
//! Pure: bytes and a decision per record in, bytes out. A batch of which everything stays is not touched, so that
//! cleaning a clean log changes nothing. Rules as Kafka's, with KIP-534 for the delete horizon: the first cleaning
//! that keeps a tombstone, or a marker with nothing left to say, writes into the batch when they may go.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, BatchRecords, BatchRewriter, RecordView, RecordsError};

/// What was decided of a whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchDecision {
    /// All records go, whatever is decided of each.
    pub(crate) discard_records: bool,
    /// An empty batch stays when no record does, for what its header says.
    pub(crate) keep_when_empty: bool,
    /// It is a marker that may go once its delete horizon has passed.
    pub(crate) marker_expires: bool,
}

/// What is left of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filtered {
    /// All of it.
    Unchanged,
    /// This batch.
    Rewritten(Bytes),
    /// Nothing.
    Dropped,
}

/// How a batch is filtered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterSettings {
    /// The delete horizon of batches that get one now: the time plus `delete.retention.ms`.
    pub(crate) delete_horizon_ms: i64,
    /// What a batch may decompress to, in bytes.
    pub(crate) decompressed_bytes_max: usize,
}

/// Filters the batch at the front of `batch`, whose header and checksum are verified. `retain` is asked for every
/// record once, in order, unless all records go.
///
/// # Errors
/// [`RecordsError`] when the records cannot be read, or not be compressed again.
pub(crate) fn filter_batch(
    batch: &Bytes,
    header: &BatchHeader,
    decision: BatchDecision,
    settings: FilterSettings,
    mut retain: impl FnMut(&RecordView<'_>) -> bool,
) -> Result<Filtered, RecordsError> {
    if decision.discard_records || header.record_count == 0 {
        return Ok(without_records(batch, header, decision));
    }
    let records = BatchRecords::decompress_within(header, batch, settings.decompressed_bytes_max)?;
    let mut retained = Vec::new();
    let mut keeps_tombstone = false;
    records.each(|record| {
        let keep = retain(&record);
        keeps_tombstone |= keep && record.value.is_none();
        retained.push(keep);
        true
    })?;
    if !retained.contains(&true) {
        return Ok(without_records(batch, header, decision));
    }
    let horizon = header.delete_horizon_ms();
    let horizon_begins = horizon.is_none() && (keeps_tombstone || decision.marker_expires);
    if !retained.contains(&false) && !horizon_begins {
        return Ok(Filtered::Unchanged);
    }
    let horizon = if horizon_begins { Some(settings.delete_horizon_ms) } else { horizon };
    let mut rewriter = BatchRewriter::new(header, horizon);
    let mut retained = retained.into_iter();
    records.each(|record| {
        if retained.next() == Some(true) {
            rewriter.push(&record);
        }
        true
    })?;
    rewriter.finish().map(Filtered::Rewritten)
}

fn without_records(batch: &Bytes, header: &BatchHeader, decision: BatchDecision) -> Filtered {
    if !decision.keep_when_empty {
        return Filtered::Dropped;
    }
    let emptied = header.emptied();
    if batch.get(..header.size()) == Some(&*emptied) { Filtered::Unchanged } else { Filtered::Rewritten(emptied) }
}
