//! Holds the transaction indexes of a log against the markers in it.

use std::collections::HashMap;

use super::super::finding::{Findings, REBUILT};
use super::super::{Batch, ControlMarker, Record};
use crate::log::format::transaction_index::AbortedTransaction;

/// Open transactions, over all segments of a log.
#[derive(Debug, Default)]
pub(super) struct OpenTransactions {
    /// First offset by producer.
    first_offsets: HashMap<i64, i64>,
    /// The first offset there is: what was before is not known.
    log_begins: Option<i64>,
}

/// One segment's transaction index, as far as no marker was found for its entries.
#[derive(Debug)]
pub(super) struct TransactionIndexCheck {
    /// First offset and place, by producer and offset of the marker.
    entries: HashMap<(i64, i64), (i64, u64)>,
    /// What is wrong whatever became of the log.
    pub(super) findings: Findings,
    /// What is wrong unless compaction removed what is missing.
    pub(super) unless_compacted: Findings,
}

impl TransactionIndexCheck {
    pub(super) fn new(entries: Vec<(u64, AbortedTransaction)>, findings: Findings, unless_compacted: Findings) -> Self {
        let entries =
            entries.into_iter().map(|(at, entry)| ((entry.producer_id, entry.last_offset), (entry.first_offset, at)));
        Self { entries: entries.collect(), findings, unless_compacted }
    }

    /// The segment has ended: what is left has no marker.
    pub(super) fn finish(mut self) -> (Findings, Findings) {
        let mut left: Vec<_> = self.entries.into_iter().collect();
        left.sort_unstable();
        for ((producer_id, last_offset), (_, at)) in left {
            let what = format!("producer {producer_id} has no marker at offset {last_offset} that aborts");
            self.unless_compacted.repairable(at, what, REBUILT);
        }
        (self.findings, self.unless_compacted)
    }
}

impl OpenTransactions {
    /// A batch of the log, in order.
    pub(super) fn batch(&mut self, batch: &Batch, records: &[Record], index: &mut TransactionIndexCheck) {
        let log_begins = *self.log_begins.get_or_insert(batch.base_offset);
        if !batch.transactional {
            return;
        }
        if !batch.control {
            self.first_offsets.entry(batch.producer_id).or_insert(batch.base_offset);
            return;
        }
        for record in records {
            let (marker, _) = ControlMarker::read(record);
            let opened = match marker {
                ControlMarker::Abort | ControlMarker::Commit => self.first_offsets.remove(&batch.producer_id),
                _ => continue,
            };
            if marker == ControlMarker::Commit {
                continue;
            }
            let entry = index.entries.remove(&(batch.producer_id, record.offset));
            let transaction = |first| format!("producer {}'s transaction from offset {first}", batch.producer_id);
            match (opened, entry) {
                (Some(first), None) => index.unless_compacted.repairable(
                    None,
                    format!("{}, aborted at {}, is not in it", transaction(first), record.offset),
                    REBUILT,
                ),
                (Some(first), Some((said, at))) if said > first || (said < first && said >= log_begins) => {
                    let what = format!("{} is said to begin at {said}", transaction(first));
                    index.unless_compacted.repairable(at, what, REBUILT);
                }
                _ => {}
            }
        }
    }
}
