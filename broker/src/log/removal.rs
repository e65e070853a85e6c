//! Deleting segments: from the log first, from the disk later.
//!
//! A deleted segment's files are renamed, so that no start takes them in, and removed after a while (Kafka's
//! `file.delete.delay.ms`); who still reads one has it open and finishes.

use std::io;
use std::path::PathBuf;

use super::format::names;
use super::{Log, LogError};
use crate::disk::{Disk, FileKind};

/// Segments taken out while the log is held once, for others wait for it: renames take some microseconds each.
const TAKEN_OUT_AT_ONCE: usize = 32;

/// A deleted segment's file.
pub(super) struct RenamedFile {
    path: PathBuf,
    /// When it may go, milliseconds since 1970.
    due_ms: i64,
}

/// What a deleted file's name ends with.
const DELETED: &str = "deleted";

impl Log {
    /// Moves the log's start to `offset`, if that is further. The caller has written the new start down durably:
    /// what is below must not come back.
    pub(crate) fn advance_log_start(&mut self, offset: i64) {
        self.log_start_offset = self.log_start_offset.max(offset);
        self.epochs.start_at(self.log_start_offset);
        self.producers.truncate(self.log_start_offset);
    }

    /// Whether there are segments wholly below the log's start.
    pub(crate) fn has_segments_below_start(&self) -> bool {
        self.segments.get(1).is_some_and(|second| second.base_offset <= self.log_start_offset)
    }

    /// Takes some segments wholly below the log's start out, but never the active one, nor one whose successor's name a
    /// crash could still take: the log would begin behind that. Answers how many, and 0 once there are no more. The caller then syncs the directory without holding the log, and tells
    /// [`Log::removals_are_durable`].
    ///
    /// # Errors
    /// [`LogError::Io`]; what was not renamed stays.
    pub(crate) fn take_out_segments_below_start(&mut self, now_ms: i64) -> Result<usize, LogError> {
        let start = self.log_start_offset;
        let below = self.segments.iter().skip(1).take_while(|next| next.base_offset <= start);
        let below = below.take(TAKEN_OUT_AT_ONCE).count();
        let mut removed = 0;
        let mut result = Ok(());
        while removed < below && result.is_ok() {
            let base = self.segments[removed].base_offset;
            // What compaction is about to put there would come back without it.
            let is_swapped = self.swapping.as_ref().is_some_and(|swapping| swapping.contains(&base));
            if is_swapped || self.has_unsynced_name(self.segments[removed + 1].base_offset) {
                break;
            }
            result = self.rename_deleted(base, now_ms);
            removed += usize::from(result.is_ok());
        }
        self.segments.drain(..removed);
        self.removals += removed as u64;
        result.map(|()| removed).map_err(|source| self.failed(source))
    }

    /// Segments taken out so far.
    pub(crate) fn removals(&self) -> u64 {
        self.removals
    }

    /// The directory was synced when [`Log::removals`] was so many: these do not come back.
    pub(crate) fn removals_are_durable(&mut self, removals: u64) {
        self.removals_durable = self.removals_durable.max(removals);
    }

    /// Takes all segments wholly below the log's start out and syncs, for logs whose owner may block.
    ///
    /// # Errors
    /// As [`Log::take_out_segments_below_start`].
    #[cfg(test)]
    pub(crate) fn remove_segments_below_start(&mut self, now_ms: i64) -> Result<usize, LogError> {
        let before = self.removals;
        while self.take_out_segments_below_start(now_ms)? > 0 {}
        if self.removals > self.removals_durable {
            let synced = self.files.disk().sync_directory(self.files.directory());
            synced.map_err(|source| self.failed(source))?;
            self.removals_are_durable(self.removals);
        }
        Ok((self.removals - before) as usize)
    }

    /// Renames a segment's files.
    pub(super) fn rename_deleted(&mut self, base: i64, now_ms: i64) -> io::Result<()> {
        let paths = FileKind::ALL.map(|kind| self.files.path(base, kind));
        for path in paths.into_iter().chain([self.files.path_of(&names::snapshot_file(base))]) {
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
            let aside = path.with_file_name(format!("{name}.{DELETED}"));
            match self.files.disk().rename(&path, &aside) {
                Ok(()) => {
                    let due_ms = now_ms.saturating_add(self.config.file_delete_delay_ms);
                    self.renamed.push(RenamedFile { path: aside, due_ms });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.files.forget(base);
        self.forget_dirty(base);
        Ok(())
    }

    /// Deleted segments' files whose time has come, to be removed without holding the log: a large file takes long.
    pub(crate) fn take_due(&mut self, now_ms: i64) -> Due {
        let is_due = |file: &RenamedFile| file.due_ms <= now_ms;
        if !self.renamed.iter().any(is_due) {
            return Due(Vec::new());
        }
        let (due, left) = std::mem::take(&mut self.renamed).into_iter().partition(is_due);
        self.renamed = left;
        Due(due)
    }

    /// Takes back what could not be removed, to be tried again.
    pub(crate) fn put_back(&mut self, due: Due) {
        self.renamed.extend(due.0);
    }

    /// Removes deleted segments' files whose time has come, for logs whose owner may block.
    ///
    /// # Errors
    /// What the disk says; the files stay.
    pub(crate) fn remove_due(&mut self, now_ms: i64) -> io::Result<()> {
        let mut due = self.take_due(now_ms);
        let removed = due.remove(self.files.disk());
        self.put_back(due);
        removed
    }
}

/// Files that are to be removed.
pub(crate) struct Due(Vec<RenamedFile>);

impl Due {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes them; what is left could not be. Blocks.
    ///
    /// # Errors
    /// What the disk said last.
    pub(crate) fn remove(&mut self, disk: &dyn Disk) -> io::Result<()> {
        let mut result = Ok(());
        self.0.retain(|file| match disk.remove(&file.path) {
            Ok(()) => false,
            Err(error) => {
                result = Err(error);
                true
            }
        });
        result
    }
}
