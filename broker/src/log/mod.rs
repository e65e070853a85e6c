//! One partition's log: Kafka's segment files, written, read and recovered.
//!
//! The log is synchronous and knows neither tasks nor requests; its files are reached through [`crate::disk::Disk`].
//! It has one writer, who holds it exclusively. Invariants: offsets in a log only grow; every byte below a segment's
//! `size` belongs to a whole batch with a right checksum; the log's end never comes from a file's length, for files
//! are grown ahead and end in zeroes; everything below the recovery point is on disk, with what is needed to read it.

mod append;
mod checkpoint;
mod cleaning;
pub(crate) mod compaction;
mod config;
mod dirty;
mod epochs;
mod error;
mod files;
pub(crate) mod format;
mod index_file;
mod lookup;
mod producers;
mod read;
mod recovery;
mod removal;
mod retention;
mod scan;
mod segment;
#[cfg(test)]
mod simulation;
mod swapping;
#[cfg(test)]
mod tests;
mod timestamps;
mod transactions;

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

pub(crate) use append::Appended;
pub(crate) use config::LogConfig;
pub use error::LogError;
pub(crate) use format::producer_snapshot::ProducerSnapshotEntry;
pub(crate) use format::transaction_index::AbortedTransaction;
pub(crate) use producers::{MarkerError, ProducerStates, SequenceError, Verdict};
pub(crate) use read::{LogSlice, LogView, ReadFrom, Viewed};
pub(crate) use recovery::Opening;
pub(crate) use removal::Due;
pub(crate) use swapping::CleanedGroup;
pub(crate) use timestamps::TimestampedOffset;

use uuid::Uuid;

use crate::disk::OpenFiles;
use dirty::DirtyFile;
use epochs::LeaderEpochs;
use files::LogFiles;
use removal::RenamedFile;
use segment::Segment;

/// A place in the log: an offset, and where its batch begins or will begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// The offset.
    pub(crate) offset: i64,
    /// Base offset of the segment.
    pub(crate) segment: i64,
    /// Bytes from the segment's start.
    pub(crate) position: u64,
}

/// A partition's log.
pub(crate) struct Log {
    files: LogFiles,
    config: Arc<LogConfig>,
    /// In order of their base offsets; the last one is written to. Empty until the first append.
    segments: Vec<Segment>,
    log_start_offset: i64,
    next_offset: i64,
    /// Everything below it is on disk with its indexes, and a start need not look at it.
    recovery_point: i64,
    /// The recovery point that the next start will be given at least: what the checkpoint file says.
    recovery_point_written: i64,
    /// A recovery point that holds once what is dirty now is synced.
    recovery_point_pending: Option<i64>,
    /// Bytes appended since the recovery point was last moved, or is about to be.
    bytes_unchecked: u64,
    epochs: LeaderEpochs,
    producers: ProducerStates,
    /// Offset of the newest snapshot of `producers`; −1 without.
    snapshot_offset: i64,
    /// Offsets of older ones that begin no segment.
    superseded_snapshots: Vec<i64>,
    /// Files with bytes that no sync has covered, oldest first.
    dirty: Vec<DirtyFile>,
    /// Deleted segments' files that are still there under another name.
    renamed: Vec<RenamedFile>,
    /// Segments taken out below the log's start, and how many of them a crash does not bring back.
    removals: u64,
    removals_durable: u64,
    /// Base offsets of segments in whose place a cleaned one is being put.
    swapping: Option<RangeInclusive<i64>>,
    /// Everything below it was cleaned by compaction; `None` when that is not known.
    cleaned_to: Option<i64>,
    /// Counts changes of what stands behind a segment's name.
    generation: u64,
    /// The topic's id, written into the partition's directory when that is made.
    topic_id: Uuid,
}

impl Log {
    /// A log without a segment, and nothing looked for on the disk.
    pub(crate) fn nothing(open: Arc<OpenFiles>, directory: &Path, topic_id: Uuid, config: Arc<LogConfig>) -> Self {
        Self {
            files: LogFiles::new(open, directory),
            config,
            segments: Vec::new(),
            log_start_offset: 0,
            next_offset: 0,
            recovery_point: 0,
            recovery_point_written: 0,
            recovery_point_pending: None,
            bytes_unchecked: 0,
            epochs: LeaderEpochs::default(),
            producers: ProducerStates::default(),
            snapshot_offset: -1,
            superseded_snapshots: Vec::new(),
            dirty: Vec::new(),
            renamed: Vec::new(),
            removals: 0,
            removals_durable: 0,
            swapping: None,
            cleaned_to: None,
            generation: 0,
            topic_id,
        }
    }

    /// The partition's directory.
    pub(crate) fn directory(&self) -> &Path {
        self.files.directory()
    }

    /// The settings in force.
    pub(crate) fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Sets other settings.
    pub(crate) fn configure(&mut self, config: Arc<LogConfig>) {
        self.config = config;
    }

    /// The first offset there is.
    pub(crate) fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The log's start, where its first segment begins before it, or may again after a crash, or be gone.
    pub(crate) fn moved_start(&self) -> Option<i64> {
        let first = self.segments.first().map_or(0, |segment| segment.base_offset);
        let is_uncertain = self.removals_durable < self.removals || self.has_unsynced_name(first);
        let is_told = self.log_start_offset > first || is_uncertain && self.log_start_offset > 0;
        is_told.then_some(self.log_start_offset)
    }

    /// The offset the next record gets.
    pub(crate) fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Everything below it is on disk with its indexes, and a start need not look at it.
    pub(crate) fn recovery_point(&self) -> i64 {
        self.recovery_point
    }

    /// Takes note that a recovery point stands in the checkpoint file, durably.
    pub(crate) fn recovery_point_written(&mut self, recovery_point: i64) {
        self.recovery_point_written = self.recovery_point_written.max(recovery_point);
    }

    /// Where the log ends.
    pub(crate) fn end(&self) -> LogPosition {
        match self.segments.last() {
            Some(segment) => {
                LogPosition { offset: self.next_offset, segment: segment.base_offset, position: segment.size }
            }
            None => LogPosition { offset: self.next_offset, segment: self.next_offset, position: 0 },
        }
    }

    /// Bytes of all segments.
    pub(crate) fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.size).sum()
    }

    /// What is known of idempotent and transactional producers.
    pub(crate) fn producers(&self) -> &ProducerStates {
        &self.producers
    }

    /// Forgets producers that have been silent for `expiration_ms`.
    pub(crate) fn expire_producers(&mut self, now_ms: i64, expiration_ms: i64) {
        self.producers.expire(now_ms, expiration_ms);
    }

    /// The epoch of the last batch; −1 for an empty log.
    pub(crate) fn latest_epoch(&self) -> i32 {
        self.epochs.latest()
    }

    /// The largest epoch up to `epoch` and the offset behind its last record (KIP-320); `None` when no batch is so old.
    pub(crate) fn end_of_epoch(&self, epoch: i32) -> Option<(i32, i64)> {
        self.epochs.end_of(epoch, self.next_offset)
    }

    /// The epoch of the record at `offset`.
    pub(crate) fn epoch_at(&self, offset: i64) -> i32 {
        self.epochs.at(offset)
    }

    fn failed(&self, source: std::io::Error) -> LogError {
        LogError::Io { path: self.files.directory().to_owned(), source }
    }
}
