//! Writing down what a start would otherwise have to find out by reading: index entries, producers, leader epochs.

use std::io::{self, IoSlice};

use super::dirty::FileName;
use super::format::{leader_epoch_checkpoint, names, partition_metadata, producer_snapshot};
use super::{Log, LogError};
use crate::disk::{Disk, FileKind};

/// The file with leader epochs.
pub(super) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
/// The file with the topic's id.
const PARTITION_METADATA: &str = "partition.metadata";

impl Log {
    /// Bytes that a start would have to look at.
    pub(crate) fn bytes_unchecked(&self) -> u64 {
        self.bytes_unchecked
    }

    /// Writes index entries and producers, so that the recovery point moves to the log's end with the next sync.
    ///
    /// # Errors
    /// [`LogError::Io`]; the recovery point then stays where it is.
    pub(crate) fn prepare_checkpoint(&mut self) -> Result<(), LogError> {
        if self.segments.is_empty() {
            return Ok(());
        }
        self.flush_indexes().map_err(|source| self.failed(source))?;
        self.write_snapshot().map_err(|source| self.failed(source))?;
        self.recovery_point_pending = Some(self.next_offset);
        self.bytes_unchecked = 0;
        Ok(())
    }

    /// Whether the recovery point would move if leader epochs were written down.
    pub(crate) fn waits_for_epochs(&self) -> bool {
        self.recovery_point_pending.is_some_and(|pending| !self.epochs.is_saved_up_to(pending))
    }

    /// The leader epochs to write down, when some are not; the caller replaces the file without holding the log, then
    /// calls [`Log::epochs_saved`].
    pub(crate) fn unsaved_epochs(&self) -> Option<UnsavedEpochs> {
        self.epochs.unsaved().map(|epochs| UnsavedEpochs {
            path: self.files.path_of(LEADER_EPOCHS),
            content: leader_epoch_checkpoint::encode(epochs),
            latest: self.epochs.latest(),
        })
    }

    /// Takes note that leader epochs are on disk.
    pub(crate) fn epochs_saved(&mut self, saved: &UnsavedEpochs) {
        self.epochs.saved(saved.latest);
    }

    /// Writes leader epochs down where some are not, for logs whose owner may block: the recovery point waits for them.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn save_epochs(&mut self) -> Result<(), LogError> {
        let Some(unsaved) = self.unsaved_epochs() else { return Ok(()) };
        unsaved.save(self.files.disk()).map_err(|source| self.failed(source))?;
        self.epochs_saved(&unsaved);
        self.sync()
    }

    /// Writes everything down and syncs, for logs whose owner may block: after it a start finds nothing to recover.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn close(&mut self) -> Result<(), LogError> {
        if self.prepare_close(false)? { self.sync() } else { Ok(()) }
    }

    /// Whether a start would not find everything written down.
    pub(crate) fn is_unsaved(&self) -> bool {
        let is_saved = self.recovery_point == self.next_offset && self.dirty.is_empty() && self.is_trimmed();
        !self.segments.is_empty() && (!is_saved || self.epochs.unsaved().is_some())
    }

    /// Writes everything down and cuts what the active file was grown ahead: after the next sync a start finds
    /// nothing to recover. False when there is nothing to sync. `whole` says that the caller syncs the disk as a whole.
    /// Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn prepare_close(&mut self, whole: bool) -> Result<bool, LogError> {
        if !self.is_unsaved() {
            return Ok(false);
        }
        let files = self.files.clone();
        let failed = |source| LogError::Io { path: files.directory().to_owned(), source };
        if let Some(segment) = self.segments.last_mut() {
            let base = segment.base_offset;
            segment.complete(&files).map_err(failed)?;
            for kind in [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex] {
                let file = files.open_existing(base, kind).map_err(failed)?;
                self.mark_dirty(FileName::Segment(base, kind), file, true);
            }
        }
        self.write_snapshot().map_err(failed)?;
        if let Some(unsaved) = self.unsaved_epochs() {
            let saved = if whole { unsaved.save_unsynced(files.disk()) } else { unsaved.save(files.disk()) };
            saved.map_err(failed)?;
            self.epochs_saved(&unsaved);
        }
        self.recovery_point_pending = Some(self.next_offset);
        self.bytes_unchecked = 0;
        Ok(true)
    }

    /// Writes everything down that a start needs, so that the recovery point is the log's end with the caller's sync of
    /// the whole disk.
    pub(super) fn check_in(&mut self) -> io::Result<()> {
        if self.segments.is_empty() {
            return Ok(());
        }
        self.flush_indexes()?;
        self.write_snapshot()?;
        if let Some(unsaved) = self.unsaved_epochs() {
            unsaved.save_unsynced(self.files.disk())?;
            self.epochs_saved(&unsaved);
        }
        self.recovery_point = self.next_offset;
        self.bytes_unchecked = 0;
        Ok(())
    }

    /// Closes what is open of a log whose files are about to go. Views of it hold no longer: another log may have its
    /// directory next.
    pub(crate) fn forget_files(&mut self) {
        self.generation += 1;
        self.files.forget_all();
    }

    /// Writes the topic's id into the partition's directory, for Kafka's tools and for a way back to Kafka; the
    /// catalogue is what this broker goes by, so the file need not be synced. A log of no topic, the catalogue's own,
    /// has none: an id of zeroes is not one.
    pub(super) fn write_metadata(&self) -> io::Result<()> {
        if self.topic_id.is_nil() {
            return Ok(());
        }
        let content = partition_metadata::encode(self.topic_id);
        let path = self.files.path_of(PARTITION_METADATA);
        // A crash may have left as many zeroes.
        let found = self.files.disk().read_small(&path, content.len()).unwrap_or_default();
        if found.as_deref() == Some(content.as_bytes()) {
            return Ok(());
        }
        let file = self.files.disk().open(&path)?;
        file.truncate(0)?;
        file.write_at(0, &mut [IoSlice::new(content.as_bytes())])
    }

    fn is_trimmed(&self) -> bool {
        self.segments.last().is_none_or(|segment| segment.grown == segment.size)
    }

    /// Writes what is known of producers as of the log's end. It is checked when it is read, so it need not be synced
    /// before anything depends on it. Older ones go once the recovery point that the next start will be given is behind
    /// them, but for those that begin a segment.
    pub(super) fn write_snapshot(&mut self) -> io::Result<()> {
        let offset = self.next_offset;
        if self.snapshot_offset == offset {
            return Ok(());
        }
        let path = self.files.path_of(&names::snapshot_file(offset));
        let file = self.files.disk().open(&path)?;
        let content = producer_snapshot::encode(&self.producers.snapshot());
        file.truncate(0)?;
        file.write_at(0, &mut [IoSlice::new(&content)])?;
        self.mark_dirty(FileName::Snapshot(offset), file, true);
        let previous = std::mem::replace(&mut self.snapshot_offset, offset);
        if previous >= 0 {
            self.superseded_snapshots.push(previous);
        }
        while let Some(place) = self.superseded_snapshots.iter().position(|old| *old < self.recovery_point_written) {
            self.remove_snapshot(self.superseded_snapshots[place])?;
            self.superseded_snapshots.swap_remove(place);
        }
        Ok(())
    }

    /// Removes those of `snapshots` that a start has no use for.
    pub(super) fn remove_other_snapshots(&self, snapshots: &[i64]) -> io::Result<()> {
        let others = snapshots.iter().filter(|offset| **offset != self.snapshot_offset);
        others.copied().try_for_each(|offset| self.remove_snapshot(offset))
    }

    /// Removes a snapshot, unless it begins a segment.
    fn remove_snapshot(&self, offset: i64) -> io::Result<()> {
        let place = self.segments.binary_search_by_key(&offset, |segment| segment.base_offset);
        if offset < 0 || place.is_ok() {
            return Ok(());
        }
        self.files.disk().remove(&self.files.path_of(&names::snapshot_file(offset)))
    }
}

/// Leader epochs to be written down.
pub(crate) struct UnsavedEpochs {
    path: std::path::PathBuf,
    content: String,
    latest: i32,
}

impl UnsavedEpochs {
    /// Replaces the file durably. Blocks.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn save(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.replace_small(&self.path, self.content.as_bytes())
    }

    /// Replaces the file, durable with the caller's next sync of the whole disk. A crash before that may leave an empty
    /// one, and the epochs are then found in the batches.
    fn save_unsynced(&self, disk: &dyn Disk) -> io::Result<()> {
        let aside = self.path.with_extension("tmp");
        disk.remove(&aside)?;
        disk.open(&aside)?.write_at(0, &mut [IoSlice::new(self.content.as_bytes())])?;
        disk.rename(&aside, &self.path)
    }
}
