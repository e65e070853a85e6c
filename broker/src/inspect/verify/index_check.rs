//! Holds an offset index and a time index against the batches of their segment, given one after the other.

use std::vec::IntoIter;

use super::super::Batch;
use super::super::finding::{Findings, REBUILT};
use super::super::index::{OffsetEntry, TimeEntry};

/// An offset index against its segment.
#[derive(Debug)]
pub(super) struct OffsetIndexCheck {
    entries: std::iter::Peekable<IntoIter<OffsetEntry>>,
    pub(super) findings: Findings,
    /// Offset of the last record before the batch at hand.
    before: Option<i64>,
}

impl OffsetIndexCheck {
    pub(super) fn new(entries: Vec<OffsetEntry>, findings: Findings) -> Self {
        Self { entries: entries.into_iter().peekable(), findings, before: None }
    }

    /// The next batch of the segment.
    pub(super) fn batch(&mut self, batch: &Batch) {
        while let Some(entry) = self.entries.next_if(|entry| entry.position <= batch.position) {
            let OffsetEntry { at, offset, position } = entry;
            if position < batch.position {
                self.findings.repairable(at, format!("offset {offset}: no batch begins at {position}"), REBUILT);
            } else if self.before.is_some_and(|before| before >= offset) || offset < batch.base_offset {
                let (first, last) = (batch.base_offset, batch.last_offset);
                let what = format!("offset {offset}: the batch at {position} has offsets {first} to {last}");
                self.findings.repairable(at, what, REBUILT);
            } else if offset != batch.last_offset {
                let what = format!("offset {offset}: the batch at {position} ends with offset {}", batch.last_offset);
                self.findings.note(at, what, "nothing: a search finds its records all the same");
            }
        }
        self.before = Some(batch.last_offset);
    }

    /// Bytes up to `position` are no batches; nothing can be said of entries that lead there.
    pub(super) fn skip_to(&mut self, position: u64) {
        while self.entries.next_if(|entry| entry.position < position).is_some() {}
    }

    /// The segment has ended.
    pub(super) fn finish(mut self) -> Findings {
        for OffsetEntry { at, offset, position } in self.entries {
            self.findings.repairable(at, format!("offset {offset}: the log ends before {position}"), REBUILT);
        }
        self.findings
    }
}

/// A time index against its segment.
#[derive(Debug)]
pub(super) struct TimeIndexCheck {
    entries: std::iter::Peekable<IntoIter<TimeEntry>>,
    pub(super) findings: Findings,
    last_timestamp: i64,
    /// Largest timestamp before the batch at hand.
    before: i64,
}

impl TimeIndexCheck {
    pub(super) fn new(entries: Vec<TimeEntry>, findings: Findings) -> Self {
        let last_timestamp = entries.last().map_or(-1, |entry| entry.timestamp);
        Self { entries: entries.into_iter().peekable(), findings, last_timestamp, before: -1 }
    }

    /// The next batch of the segment.
    pub(super) fn batch(&mut self, batch: &Batch) {
        while let Some(entry) = self.entries.next_if(|entry| entry.offset <= batch.last_offset) {
            let TimeEntry { at, timestamp, offset } = entry;
            if self.before > timestamp {
                let what = format!("timestamp {timestamp} of offset {offset}: {} stands before it", self.before);
                self.findings.repairable(at, what, REBUILT);
            } else if offset >= batch.base_offset && batch.max_timestamp != timestamp {
                let what = format!("timestamp {timestamp} of offset {offset}: its batch has {}", batch.max_timestamp);
                self.findings.repairable(at, what, REBUILT);
            }
        }
        self.before = self.before.max(batch.max_timestamp);
    }

    /// The segment has ended; a closed one's index tells its largest timestamp.
    pub(super) fn finish(mut self, is_closed: bool) -> Findings {
        for TimeEntry { at, timestamp, offset } in self.entries {
            let what = format!("timestamp {timestamp} of offset {offset}: the log ends before it");
            self.findings.repairable(at, what, REBUILT);
        }
        if is_closed && self.last_timestamp < self.before {
            let what = format!("it ends with timestamp {}, its segment has {}", self.last_timestamp, self.before);
            self.findings.repairable(None, what, REBUILT);
        }
        self.findings
    }
}
