//! Appending a batch: its place is stamped into it, the rest is written as it came.

use std::path::PathBuf;
use std::sync::Arc;

use pillion_wire::records::{BatchHeader, STAMPED_BYTES};

use super::segment::Segment;
use super::{DirtyFile, Log, LogError};
use crate::disk::DiskFile;

/// Where a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    /// Offset of its first record.
    pub(crate) base_offset: i64,
    /// Offset behind its last record.
    pub(crate) next_offset: i64,
}

impl Log {
    /// Appends a valid batch, whose header is `header`, with the next offset and `leader_epoch` stamped into it.
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is then as it was before.
    pub(crate) fn append(
        &mut self,
        batch: &[u8],
        mut header: BatchHeader,
        leader_epoch: i32,
    ) -> Result<Appended, LogError> {
        let base_offset = self.next_offset;
        let front = header.stamp(base_offset, leader_epoch);
        (header.base_offset, header.leader_epoch) = (base_offset, leader_epoch);
        self.make_writable(header.size() as u64)?;
        let ahead = self.config.grow_ahead_bytes;
        let rest = &batch[STAMPED_BYTES..];
        if let Some(segment) = self.segments.last_mut() {
            segment
                .append(&header, &front, rest, ahead)
                .map_err(|source| LogError::Io { path: self.directory.clone(), source })?;
            let file = Arc::clone(segment.file());
            self.mark_dirty(file, None);
        }
        self.epochs.note(leader_epoch, base_offset);
        self.producers.note(&header);
        self.next_offset = header.next_offset();
        Ok(Appended { base_offset, next_offset: self.next_offset })
    }

    /// Sees to it that the last segment has room for `size` bytes: makes the first one, or rolls.
    fn make_writable(&mut self, size: u64) -> Result<(), LogError> {
        let has_room = self
            .segments
            .last()
            .is_some_and(|segment| segment.size() == 0 || segment.size() + size <= self.config.segment_bytes);
        if has_room {
            return Ok(());
        }
        let directory = self.directory.clone();
        let failed = |source| LogError::Io { path: directory.clone(), source };
        if let Some(segment) = self.segments.last_mut() {
            segment.trim().map_err(failed)?;
            let file = Arc::clone(segment.file());
            self.mark_dirty(file, None);
        } else {
            self.disk.create_directory(&self.directory).map_err(failed)?;
        }
        let segment = Segment::open(&*self.disk, &self.directory, self.next_offset).map_err(failed)?;
        let file = Arc::clone(segment.file());
        self.mark_dirty(file, Some(self.directory.clone()));
        self.segments.push(segment);
        Ok(())
    }

    /// Notes that a file has changed since the last sync; `directory` is given when its name is new.
    fn mark_dirty(&mut self, file: Arc<dyn DiskFile>, directory: Option<PathBuf>) {
        match self.dirty.iter_mut().find(|dirty| Arc::ptr_eq(&dirty.file, &file)) {
            Some(dirty) => dirty.changes += 1,
            None => self.dirty.push(DirtyFile { file, directory, changes: 1 }),
        }
    }
}
