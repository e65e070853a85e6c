//! Opening a log: what its files hold is found out by reading as little as can be trusted.
//!
//! After a clean stop, and below the recovery point, files are believed: only the end of the last segment is looked
//! for, from its last index entry on. Beyond the recovery point every checksum is recomputed, and the log ends before
//! the first batch that is not whole; indexes, transaction indexes, producers and leader epochs are made again from
//! there on. A log that ends below its recovery point was damaged, which is never papered over.

mod damage;
mod directory;
mod load;
mod replay;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use super::{Log, LogConfig, LogError};
use crate::disk::OpenFiles;
use directory::Found;
use load::Trust;

/// In a partition's directory after a failed sync: the offset up to which the log was durable.
const SYNC_FAILED: &str = "sync-failed";

/// What is known of a log before it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    /// The last stop was clean.
    pub(crate) clean: bool,
    /// Everything below this offset is on disk with its indexes.
    pub(crate) recovery_point: i64,
    /// Whether that is known; else the log may have been compacted up to anywhere, whatever its policy is now.
    pub(crate) is_known: bool,
    /// The log starts here at least.
    pub(crate) log_start_offset: i64,
    /// Everything below this offset was compacted.
    pub(crate) cleaned_to: Option<i64>,
    /// The clock, milliseconds since 1970.
    pub(crate) now_ms: i64,
}

impl Log {
    /// Opens the log in `directory`, which need not exist yet.
    ///
    /// After an unclean stop the caller must sync the disk ([`crate::disk::Disk::sync_all`]) before it shows anyone
    /// what the log holds: a batch that is only in the page cache would be shown and lost by the next crash.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Damaged`], or [`LogError::Shortened`] when what is there ends elsewhere than it did.
    pub(crate) fn open(
        open: Arc<OpenFiles>,
        directory: &Path,
        topic_id: Uuid,
        config: Arc<LogConfig>,
        opening: Opening,
    ) -> Result<Self, LogError> {
        let mut log = Self::nothing(open, directory, topic_id, config);
        let failed = |source| LogError::Io { path: directory.to_owned(), source };
        let found = Found::list(&log.files, opening.log_start_offset).map_err(failed)?;
        let start = opening.log_start_offset.max(found.bases.first().copied().unwrap_or(0));
        log.log_start_offset = start;
        log.next_offset = found.bases.first().copied().unwrap_or(start);
        log.cleaned_to = opening.cleaned_to;
        log.recovery_point_written = opening.recovery_point;
        let durable_end = if found.sync_failed { log.sync_failed_at().map_err(failed)? } else { None };
        // What is deleted needs no recovery.
        let below = opening.recovery_point.min(durable_end.unwrap_or(i64::MAX)).max(log.next_offset);
        let everything = opening.clean && durable_end.is_none();
        // Compaction keeps below the recovery point; Kafka's may be ahead of the file that says where that is.
        let compacted_below = if opening.is_known { below.max(opening.cleaned_to.unwrap_or(0)) } else { i64::MAX };
        let trust = Trust {
            everything,
            below,
            end: durable_end.unwrap_or(i64::MAX),
            may_miss_below: if everything { i64::MAX } else { compacted_below },
        };
        log.load_segments(&found.bases, &trust, opening.now_ms).map_err(failed)?;
        let expected = if trust.everything { trust.below.max(start) } else { trust.below };
        // A clean stop writes down where the log ends.
        let is_longer = everything && opening.recovery_point > 0 && log.next_offset > below;
        if log.next_offset < expected || is_longer {
            return Err(LogError::Shortened { path: directory.to_owned(), found: log.next_offset, expected });
        }
        if log.next_offset < start || start > 0 && log.segments.is_empty() {
            log.begin_at(start, opening.now_ms)?;
        }
        log.replay(&found, &trust)?;
        if !opening.clean && !log.segments.is_empty() {
            log.write_metadata().map_err(failed)?;
        }
        log.recovery_point = if trust.everything { log.next_offset } else { trust.below };
        if !trust.everything && !opening.is_known {
            // The next start is to know that again: offsets are missing up to anywhere.
            log.check_in().map_err(failed)?;
        }
        if durable_end.is_some() {
            log.files.disk().remove(&log.files.path_of(SYNC_FAILED)).map_err(failed)?;
        }
        Ok(log)
    }

    /// Gives up what there is for an empty log that begins at `start`: all of it was deleted, with records behind it that
    /// no sync had covered, and that a crash took.
    fn begin_at(&mut self, start: i64, now_ms: i64) -> Result<(), LogError> {
        tracing::warn!(
            directory = %self.files.directory().display(), log_end_offset = self.next_offset, log_start_offset = start,
            "the log ends before its start: it begins there anew"
        );
        for segment in std::mem::take(&mut self.segments) {
            self.rename_deleted(segment.base_offset, now_ms).map_err(|source| self.failed(source))?;
        }
        self.next_offset = start;
        self.remove_due(i64::MAX).map_err(|source| self.failed(source))?;
        self.begin_first_segment(now_ms)
    }

    /// Notes down that a sync failed, and the offset up to which the log is durable: what is behind it in the page
    /// cache, and perhaps in the file, is no evidence. The next start cuts the log there.
    pub(crate) fn mark_sync_failed(&self, durable_end: i64) -> Result<(), LogError> {
        let path = self.files.path_of(SYNC_FAILED);
        let written = self.files.disk().replace_small(&path, durable_end.to_string().as_bytes());
        written.map_err(|source| LogError::Io { path, source })
    }

    fn sync_failed_at(&self) -> std::io::Result<Option<i64>> {
        let content = self.files.disk().read_small(&self.files.path_of(SYNC_FAILED), 64)?;
        Ok(content.and_then(|content| std::str::from_utf8(&content).ok()?.trim().parse().ok()))
    }
}
