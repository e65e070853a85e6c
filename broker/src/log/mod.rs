//! One partition's log: Kafka's segment files, written, read and recovered.
//!
//! The log is synchronous and knows neither tasks nor requests; its files are reached through [`crate::disk::Disk`].
//! It has one writer, who holds it exclusively. Invariants: offsets in a log only grow; every byte below a segment's
//! `size` belongs to a whole batch with a right checksum; the log's end never comes from a file's length, for files
//! are grown ahead and end in zeroes.

mod append;
mod epochs;
mod error;
#[allow(dead_code, reason = "the log's own files come to use these formats one by one")]
pub(crate) mod format;
mod index;
mod producers;
mod read;
mod recovery;
mod segment;
#[cfg(test)]
mod tests;
mod timestamps;

use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use append::Appended;
pub use error::LogError;
pub(crate) use producers::{ProducerStates, SequenceError, Verdict};
pub(crate) use read::{LogSlice, ReadFrom};
pub(crate) use timestamps::TimestampedOffset;

use crate::disk::Disk;
use epochs::LeaderEpochs;
use segment::Segment;

/// What a log's owner decides about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogConfig {
    /// Size at which a segment is closed and the next begun, in bytes (`segment.bytes`).
    pub(crate) segment_bytes: u64,
    /// How far a segment file is grown ahead of its end, in bytes; 0 grows it by each append.
    pub(crate) grow_ahead_bytes: u64,
}

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
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    config: LogConfig,
    /// In order of their base offsets; the last one is written to. Empty until the first append.
    segments: Vec<Segment>,
    log_start_offset: i64,
    next_offset: i64,
    epochs: LeaderEpochs,
    producers: ProducerStates,
    /// Files with bytes that no sync has covered, oldest first.
    dirty: Vec<DirtyFile>,
}

/// A file to sync, and whether its name must be made durable too.
#[derive(Clone)]
pub(crate) struct DirtyFile {
    pub(crate) file: Arc<dyn crate::disk::DiskFile>,
    pub(crate) directory: Option<PathBuf>,
    /// Counts what was done to the file, to tell whether a sync has covered all of it.
    pub(crate) changes: u64,
}

impl Log {
    /// The first offset there is.
    pub(crate) fn log_start_offset(&self) -> i64 {
        self.log_start_offset
    }

    /// The offset the next record gets.
    pub(crate) fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Where the log ends.
    pub(crate) fn end(&self) -> LogPosition {
        match self.segments.last() {
            Some(segment) => {
                LogPosition { offset: self.next_offset, segment: segment.base_offset(), position: segment.size() }
            }
            None => LogPosition { offset: self.next_offset, segment: self.next_offset, position: 0 },
        }
    }

    /// What is known of idempotent producers.
    pub(crate) fn producers(&self) -> &ProducerStates {
        &self.producers
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

    /// Files that a sync must cover before what was appended so far is durable. A caller syncs them without holding
    /// the log, then calls [`Log::synced`].
    pub(crate) fn dirty_files(&self) -> Vec<DirtyFile> {
        self.dirty.clone()
    }

    /// Drops from the dirty files those that have not changed since [`Log::dirty_files`] gave them out.
    pub(crate) fn synced(&mut self, covered: &[DirtyFile]) {
        let version = |dirty: &DirtyFile| {
            covered.iter().find(|file| Arc::ptr_eq(&file.file, &dirty.file)).map(|file| file.changes)
        };
        self.dirty.retain_mut(|dirty| {
            let covered = version(dirty);
            if covered.is_some() {
                dirty.directory = None;
            }
            covered != Some(dirty.changes)
        });
    }

    /// Syncs everything; for logs whose owner may block.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        let files = self.dirty_files();
        files.iter().try_for_each(DirtyFile::sync).map_err(|source| self.error(source))?;
        files.iter().try_for_each(|file| file.sync_name(&*self.disk)).map_err(|source| self.error(source))?;
        self.synced(&files);
        Ok(())
    }

    /// Cuts what the active file was grown ahead and syncs: after it a start finds nothing to recover.
    pub(crate) fn close(&mut self) -> Result<(), LogError> {
        if let Some(segment) = self.segments.last_mut() {
            segment.trim().map_err(|source| LogError::Io { path: self.directory.clone(), source })?;
        }
        self.sync()
    }

    fn error(&self, source: std::io::Error) -> LogError {
        LogError::Io { path: self.directory.clone(), source }
    }
}

impl DirtyFile {
    /// Makes the file's bytes durable.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync()
    }

    /// Makes the file's name durable, where it is new: its directory, and that one's own name.
    pub(crate) fn sync_name(&self, disk: &dyn Disk) -> std::io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        disk.sync_directory(directory)?;
        directory.parent().map_or(Ok(()), |parent| disk.sync_directory(parent))
    }
}
