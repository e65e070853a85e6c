//! Which of a partition's records have an open fate.

use std::collections::BTreeMap;

/// A transaction that a marker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompletedTransaction {
    /// Its producer.
    pub(crate) producer_id: i64,
    /// Offset of its first record in this partition.
    pub(crate) first_offset: i64,
    /// Offset of its marker.
    pub(crate) last_offset: i64,
    /// Whether readers must skip its records.
    pub(crate) aborted: bool,
}

/// A transaction without a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenTransaction {
    /// Its producer.
    pub(crate) producer_id: i64,
    /// That producer's epoch.
    pub(crate) producer_epoch: i16,
    /// Offset of its first record in this partition.
    pub(crate) first_offset: i64,
    /// When the producer last wrote here, in milliseconds since 1970.
    pub(crate) last_timestamp: i64,
}

/// Transactions by their first offset, which no two of them share.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// Producer ids of those without a marker.
    open: BTreeMap<i64, i64>,
    /// Marker offsets of those whose marker is not below the high watermark.
    unsettled: BTreeMap<i64, i64>,
    /// Marker offsets of those whose marker a power cut could still take back.
    undurable: BTreeMap<i64, i64>,
    log_start_offset: i64,
}

impl Transactions {
    pub(super) fn begin(&mut self, first_offset: i64, producer_id: i64) {
        self.open.insert(first_offset, producer_id);
    }

    pub(super) fn complete(&mut self, completed: &CompletedTransaction) {
        self.open.remove(&completed.first_offset);
        self.unsettled.insert(completed.first_offset, completed.last_offset);
        self.undurable.insert(completed.first_offset, completed.last_offset);
    }

    pub(super) fn settle_below(&mut self, high_watermark: i64) {
        if !self.unsettled.is_empty() {
            self.unsettled.retain(|_, marker_offset| *marker_offset >= high_watermark);
        }
    }

    pub(super) fn durable_below(&mut self, durable_end: i64) {
        if !self.undurable.is_empty() {
            self.undurable.retain(|_, marker_offset| *marker_offset >= durable_end);
        }
    }

    pub(super) fn truncate(&mut self, log_start_offset: i64) {
        self.log_start_offset = self.log_start_offset.max(log_start_offset);
        // What is deleted was below the high watermark.
        self.settle_below(log_start_offset);
        self.durable_below(log_start_offset);
    }

    pub(super) fn first_unstable_offset(&self) -> Option<i64> {
        let first = self.open.first_key_value().map(|(first_offset, _)| *first_offset);
        let unsettled = self.unsettled.first_key_value().map(|(first_offset, _)| *first_offset);
        // DeleteRecords may have taken the front of a transaction that is still open.
        first.into_iter().chain(unsettled).min().map(|offset| offset.max(self.log_start_offset))
    }

    pub(super) fn first_undurable_offset(&self) -> Option<i64> {
        let undurable = self.undurable.first_key_value().map(|(first_offset, _)| *first_offset);
        let first = self.first_open_offset().into_iter().chain(undurable).min();
        first.map(|offset| offset.max(self.log_start_offset))
    }

    pub(super) fn first_open_offset(&self) -> Option<i64> {
        self.open.first_key_value().map(|(first_offset, _)| *first_offset)
    }

    /// First offset and producer id of those without a marker, in order.
    pub(super) fn open(&self) -> impl Iterator<Item = (i64, i64)> {
        self.open.iter().map(|(first_offset, producer_id)| (*first_offset, *producer_id))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.unsettled.is_empty() && self.undurable.is_empty()
    }
}
