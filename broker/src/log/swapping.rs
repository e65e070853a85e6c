//! Putting a cleaned group of segments in the place of what it was made from.
//!
//! What is to be replaced is noted down durably in a list; from then on the group counts for a start. Then names are
//! changed with the log held, from which on it counts for readers. When those names are durable the list goes. While
//! the list is there nothing may delete what it names. What recovery does with it is told in [`super::compaction`].

use std::io;
use std::ops::RangeInclusive;

use super::files::LogFiles;
use super::format::names::{self, Kind, SegmentFile, Suffix};
use super::format::swap_list::{self, SwapList};
use super::segment::Segment;
use super::{Log, LogError};
use crate::disk::{Disk, FileKind};

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
        if !self.begin_swap(group) {
            return Ok(false);
        }
        group.note_down().map_err(|source| self.failed(source))?;
        self.finish_swap(group, now_ms)?;
        group.strike_out().map_err(|source| self.failed(source))?;
        Ok(true)
    }

    /// Keeps what a cleaned group replaces from being deleted until [`Log::finish_swap`]; false when some of it already
    /// was. The caller notes the group down ([`CleanedGroup::note_down`]) without holding the log.
    pub(crate) fn begin_swap(&mut self, group: &CleanedGroup) -> bool {
        let is_whole = self.place_of(group).is_some();
        if is_whole {
            self.swapping = Some(group.range());
        }
        is_whole
    }

    /// Puts the group in its place. The caller then calls [`CleanedGroup::strike_out`] without holding the log, before
    /// the round is noted down as done.
    ///
    /// # Errors
    /// [`LogError::Io`]; the next start finishes what was begun.
    pub(crate) fn finish_swap(&mut self, group: &CleanedGroup, now_ms: i64) -> Result<(), LogError> {
        let Some(first) = self.place_of(group) else { return Ok(()) };
        let base = group.replaced[0];
        for replaced in &group.replaced[1..] {
            self.rename_deleted(*replaced, now_ms).map_err(|source| self.failed(source))?;
        }
        take_place(&self.files, base, group.segment.aborted).map_err(|source| self.failed(source))?;
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
}

impl CleanedGroup {
    /// Notes down, durably, what the group replaces: a start then finishes what is begun. Blocks.
    ///
    /// # Errors
    /// What the disk says; the list may be there all the same.
    pub(crate) fn note_down(&self) -> io::Result<()> {
        let list = SwapList { replaced: self.replaced.clone(), aborted: self.segment.aborted };
        self.disk().replace_small(&self.list(), swap_list::encode(&list).as_bytes())
    }

    /// Makes the names in the log's directory durable, then removes the list. Blocks.
    ///
    /// # Errors
    /// What the disk says; the list may still be there.
    pub(crate) fn strike_out(&self) -> io::Result<()> {
        self.disk().sync_directory(self.files.directory())?;
        self.disk().remove(&self.list())?;
        // It must not come back when the next group is half written.
        self.disk().sync_directory(self.files.directory())
    }

    /// Removes the files of a group that was not noted down. Blocks.
    ///
    /// # Errors
    /// What the disk says.
    pub(crate) fn throw_away(&self) -> io::Result<()> {
        let mut files = FileKind::ALL.into_iter().map(|kind| self.files.path(self.replaced[0], kind));
        files.try_for_each(|path| self.disk().remove(&path))
    }

    fn range(&self) -> RangeInclusive<i64> {
        self.replaced[0]..=self.replaced[self.replaced.len() - 1]
    }

    fn list(&self) -> std::path::PathBuf {
        self.files.path_of(&names::swap_list_file(self.replaced[0]))
    }

    fn disk(&self) -> &dyn Disk {
        self.files.disk()
    }
}

/// Renames a cleaned segment's files, as far as that was not done already, over those of the segment at `base`;
/// `aborted` is how many entries its transaction index has.
pub(super) fn take_place(files: &LogFiles, base: i64, aborted: u32) -> io::Result<()> {
    let path = |kind, suffix| files.path_of(&SegmentFile { base_offset: base, kind, suffix }.name());
    if aborted == 0 {
        files.disk().remove(&path(Kind::TransactionIndex, Suffix::None))?;
    }
    for kind in [Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Log] {
        match files.disk().rename(&path(kind, Suffix::Cleaned), &path(kind, Suffix::None)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
