//! Deleting segments: from the log first, from the disk later.
//!
//! A deleted segment's files are renamed, so that no start takes them in, and removed after a while (Kafka's
//! `file.delete.delay.ms`); who still reads one has it open and finishes.

use std::io;
use std::path::PathBuf;

use super::format::names;
use super::{Log, LogError};
use crate::disk::FileKind;

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

    /// Takes segments wholly below the log's start out, but never the active one; answers how many.
    ///
    /// # Errors
    /// [`LogError::Io`]; what was not renamed stays.
    pub(crate) fn remove_segments_below_start(&mut self, now_ms: i64) -> Result<usize, LogError> {
        let mut removed = 0;
        while let [first, second, ..] = &self.segments[..]
            && second.base_offset <= self.log_start_offset
        {
            let base = first.base_offset;
            self.rename_deleted(base, now_ms).map_err(|source| self.failed(source))?;
            self.segments.remove(0);
            removed += 1;
        }
        if removed > 0 {
            let synced = self.files.disk().sync_directory(self.files.directory());
            synced.map_err(|source| self.failed(source))?;
        }
        Ok(removed)
    }

    /// Renames a segment's files, and removes them when they are due at once.
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
        self.remove_due(now_ms)
    }

    /// Removes deleted segments' files whose time has come.
    ///
    /// # Errors
    /// What the disk says; the files stay.
    pub(crate) fn remove_due(&mut self, now_ms: i64) -> io::Result<()> {
        let disk = self.files.disk();
        let mut result = Ok(());
        self.renamed.retain(|file| {
            if file.due_ms > now_ms || result.is_err() {
                return true;
            }
            result = disk.remove(&file.path);
            result.is_err()
        });
        result
    }
}
