//! Putting a cleaned group of segments in the place of what it was made from.
//!
//! In two steps, each some renames with the log held and then a sync of their names without. From the first on the
//! group counts for a start, and nothing may delete what it replaces; with the second it counts for readers. The order
//! of the renames is told in [`super::compaction`].

use std::io;

use super::files::LogFiles;
use super::format::names::{Kind, SegmentFile, Suffix};
use super::segment::Segment;
use super::{Log, LogError};
use crate::disk::FileKind;

/// A cleaned segment, whole and on disk under a name that does not count yet.
pub(crate) struct CleanedGroup {
    pub(super) segment: Segment,
    pub(super) files: LogFiles,
    pub(super) replaced: Vec<i64>,
}

impl Log {
    /// Puts a cleaned group in the place of what it was made from, for logs whose owner may block; false when segments
    /// of it were deleted meanwhile, and the group is to be thrown away.
    ///
    /// # Errors
    /// As [`Log::finish_swap`].
    pub(crate) fn swap_in(&mut self, group: &CleanedGroup, now_ms: i64) -> Result<bool, LogError> {
        if !self.begin_swap(group)? {
            return Ok(false);
        }
        group.sync_names().map_err(|source| self.failed(source))?;
        self.finish_swap(group, now_ms)?;
        group.sync_names().map_err(|source| self.failed(source))?;
        Ok(true)
    }

    /// Lets a cleaned group count from the next sync of the names on; false when segments of it were deleted
    /// meanwhile. The caller syncs them without holding the log, before [`Log::finish_swap`].
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is as it was.
    pub(crate) fn begin_swap(&mut self, group: &CleanedGroup) -> Result<bool, LogError> {
        if self.place_of(group).is_none() {
            return Ok(false);
        }
        for kind in [Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Log] {
            self.rename_group(group, kind, Suffix::Cleaned, Suffix::Swap)?;
        }
        self.swapping = Some(group.replaced[0]..=group.replaced[group.replaced.len() - 1]);
        Ok(true)
    }

    /// Puts the group in its place. The names must be synced before the round is noted down as done.
    ///
    /// # Errors
    /// [`LogError::Io`]; the next start finishes what was begun.
    pub(crate) fn finish_swap(&mut self, group: &CleanedGroup, now_ms: i64) -> Result<(), LogError> {
        let Some(first) = self.place_of(group) else { return Ok(()) };
        let base = group.replaced[0];
        for replaced in &group.replaced[1..] {
            self.rename_deleted(*replaced, now_ms).map_err(|source| self.failed(source))?;
        }
        let aborted = self.files.path(base, FileKind::TransactionIndex);
        self.files.disk().remove(&aborted).map_err(|source| self.failed(source))?;
        for kind in [Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Log] {
            self.rename_group(group, kind, Suffix::Swap, Suffix::None)?;
        }
        self.files.forget(base);
        self.forget_dirty(base);
        self.segments.splice(first..first + group.replaced.len(), [group.segment.clone()]);
        self.generation += 1;
        self.swapping = None;
        Ok(())
    }

    /// Where the segments that a group was made from are, if all of them still are.
    fn place_of(&self, group: &CleanedGroup) -> Option<usize> {
        let first = self.segments.iter().position(|segment| segment.base_offset == group.replaced[0])?;
        let bases = self.segments[first..].iter().map(|segment| segment.base_offset);
        bases.take(group.replaced.len()).eq(group.replaced.iter().copied()).then_some(first)
    }

    /// Renames a file of a group, if the group has one of the kind.
    fn rename_group(&self, group: &CleanedGroup, kind: Kind, from: Suffix, to: Suffix) -> Result<(), LogError> {
        let path = |suffix| self.files.path_of(&SegmentFile { base_offset: group.replaced[0], kind, suffix }.name());
        match self.files.disk().rename(&path(from), &path(to)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(error)),
            _ => Ok(()),
        }
    }
}

impl CleanedGroup {
    /// Makes the names in the log's directory durable. Blocks.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn sync_names(&self) -> io::Result<()> {
        self.files.disk().sync_directory(self.files.directory())
    }

    /// Removes the files of a group that was not begun to be put in its place. Blocks.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn throw_away(&self) -> io::Result<()> {
        FileKind::ALL
            .into_iter()
            .try_for_each(|kind| self.files.disk().remove(&self.files.path(self.replaced[0], kind)))
    }
}
