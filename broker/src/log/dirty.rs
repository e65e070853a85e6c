//! What no sync has covered yet.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Log, LogError};
use crate::disk::{Disk, DiskFile};

/// A file to sync, and whether its name must be made durable too.
#[derive(Clone)]
pub(crate) struct DirtyFile {
    /// What it is: the same file may be open twice.
    name: FileName,
    file: Arc<dyn DiskFile>,
    /// The directory to sync, where the name is new.
    directory: Option<Arc<Path>>,
    /// Counts what was done to the file, to tell whether a sync has covered all of it.
    changes: u64,
}

/// A file of the partition, without its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileName {
    /// A file of the segment with this base offset.
    Segment(i64, crate::disk::FileKind),
    /// The producer snapshot of this offset.
    Snapshot(i64),
}

/// What a sync must cover before what was appended so far is durable.
#[derive(Clone)]
pub(crate) struct Dirty {
    files: Vec<DirtyFile>,
    recovery_point: Option<i64>,
    /// Where the log ended.
    end: i64,
}

impl Dirty {
    /// Makes the bytes durable, then the names. Blocks.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn sync(&self, disk: &dyn Disk) -> io::Result<()> {
        self.files.iter().try_for_each(|dirty| dirty.file.sync())?;
        let mut synced: Option<&Arc<Path>> = None;
        for directory in self.files.iter().filter_map(|dirty| dirty.directory.as_ref()) {
            if synced.is_some_and(|synced| Arc::ptr_eq(synced, directory)) {
                continue;
            }
            disk.sync_directory(directory)?;
            // The partition's own directory may be new too.
            directory.parent().map_or(Ok(()), |parent| disk.sync_directory(parent))?;
            synced = Some(directory);
        }
        Ok(())
    }
}

impl Log {
    /// What a sync must cover before what was appended so far is durable. A caller syncs it without holding the log,
    /// then calls [`Log::synced`].
    pub(crate) fn dirty(&self) -> Dirty {
        Dirty { files: self.dirty.clone(), recovery_point: self.recovery_point_pending, end: self.next_offset }
    }

    /// Takes note of a sync: files that have not changed since [`Log::dirty`] gave them out are clean.
    pub(crate) fn synced(&mut self, covered: &Dirty) {
        let version =
            |dirty: &DirtyFile| covered.files.iter().find(|file| file.name == dirty.name).map(|file| file.changes);
        self.dirty.retain_mut(|dirty| {
            let covered = version(dirty);
            if covered.is_some() {
                dirty.directory = None;
            }
            covered != Some(dirty.changes)
        });
        if self.dirty.is_empty() {
            self.dirty = Vec::new();
        }
        self.producers.durable_end_moved(covered.end);
        if let Some(recovery_point) = covered.recovery_point
            && self.epochs.is_saved_up_to(recovery_point)
        {
            self.recovery_point = self.recovery_point.max(recovery_point);
            self.recovery_point_pending = self.recovery_point_pending.filter(|pending| *pending > recovery_point);
        }
    }

    /// Whether a sync is all that the recovery point waits for.
    pub(crate) fn awaits_sync(&self) -> bool {
        self.recovery_point_pending.is_some_and(|pending| self.epochs.is_saved_up_to(pending))
    }

    /// Syncs everything; for logs whose owner may block.
    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        let dirty = self.dirty();
        dirty.sync(self.files.disk()).map_err(|source| self.failed(source))?;
        self.synced(&dirty);
        Ok(())
    }

    /// Notes that a file has changed since the last sync.
    pub(super) fn mark_dirty(&mut self, name: FileName, file: Arc<dyn DiskFile>, is_new: bool) {
        match self.dirty.iter_mut().find(|dirty| dirty.name == name) {
            Some(dirty) => dirty.changes += 1,
            None => {
                let directory = is_new.then(|| self.files.shared_directory());
                self.dirty.push(DirtyFile { name, file, directory, changes: 1 });
            }
        }
    }

    /// Whether the name of the segment that begins at `base` waits for a sync.
    pub(super) fn has_unsynced_name(&self, base: i64) -> bool {
        let name = FileName::Segment(base, crate::disk::FileKind::Log);
        self.dirty.iter().any(|dirty| dirty.name == name && dirty.directory.is_some())
    }

    /// Forgets what waits for a sync of a segment that is no longer the log's.
    pub(super) fn forget_dirty(&mut self, segment: i64) {
        self.dirty.retain(|dirty| match dirty.name {
            FileName::Segment(base, _) | FileName::Snapshot(base) => base != segment,
        });
    }
}
