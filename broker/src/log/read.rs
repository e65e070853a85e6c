//! Reading: which bytes of which file answer a fetch.
//!
//! What is in memory is found while the log is held. A reader who waits for the disk takes a [`LogView`] along, lets
//! the log go, and looks in that: appends do not wait for cold reads.

use std::io;
use std::sync::Arc;

use super::files::LogFiles;
use super::segment::Segment;
use super::{Log, LogError, LogPosition};
use crate::disk::DiskFile;

/// Segments that a view takes along.
const VIEWED_MAX: usize = 4;

/// Whether a reader may wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// Only what is in memory; [`LogError::NotCached`] otherwise.
    Memory,
    /// Whatever it takes.
    Disk,
}

/// Bytes of batches in one segment file; they stay as they are.
#[derive(Clone)]
pub(crate) struct LogSlice {
    /// The segment's file.
    pub(crate) file: Arc<dyn DiskFile>,
    /// First byte.
    pub(crate) position: u64,
    /// Bytes.
    pub(crate) length: usize,
}

/// Some segments of a log as they were when the view was taken.
pub(crate) struct LogView {
    pub(super) files: LogFiles,
    pub(super) segments: Vec<Segment>,
    /// Where to go on when nothing is found in these.
    next: Option<i64>,
    /// What [`Log::generation`] was.
    generation: u64,
}

/// What a view holds at an offset.
pub(crate) enum Viewed {
    /// These bytes.
    Found(LogSlice),
    /// Nothing below the end.
    Nothing,
    /// Nothing in the segments viewed: go on at this offset with another view.
    GoOn(i64),
}

impl Log {
    /// Batches from the one that holds `offset` on, below `end`: at most `bytes_max`, but always the first whole.
    /// The last batch may be cut, as Kafka's is. `None` when there is nothing below `end` from `offset` on.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`] outside [log start, log end], [`LogError::NotCached`], [`LogError::Io`].
    pub(crate) fn read(
        &self,
        offset: i64,
        end: LogPosition,
        bytes_max: usize,
        from: ReadFrom,
    ) -> Result<Option<LogSlice>, LogError> {
        self.check_range(offset)?;
        let begins = self.segments.binary_search_by_key(&end.offset, |segment| segment.base_offset).is_ok();
        let end = end.where_a_segment_begins(begins);
        read(&self.files, &self.segments[self.segment_of(offset)..], offset, end, bytes_max, from)
    }

    /// The segments from the one that may hold `offset` on, to look in without holding the log.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`].
    pub(crate) fn view(&self, offset: i64) -> Result<LogView, LogError> {
        self.check_range(offset)?;
        let first = self.segment_of(offset);
        let behind = self.segments.len().min(first + VIEWED_MAX);
        let segments = self.segments[first..behind].to_vec();
        Ok(LogView {
            files: self.files.clone(),
            segments,
            next: self.segments.get(behind).map(|next| next.base_offset),
            generation: self.generation,
        })
    }

    /// Place of the segment that may hold `offset`: the last one that begins at or before it.
    pub(super) fn segment_of(&self, offset: i64) -> usize {
        self.segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1)
    }

    /// Whether `offset` is in a segment before the active one.
    pub(crate) fn is_in_closed_segment(&self, offset: i64) -> bool {
        self.segment_of(offset) + 1 < self.segments.len()
    }

    /// Where the batch that holds `offset`, or the first one behind it, begins.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub(crate) fn position_of(&self, offset: i64, from: ReadFrom) -> Result<LogPosition, LogError> {
        let found = position_of(&self.files, &self.segments[self.segment_of(offset)..], offset, from)?;
        Ok(found.unwrap_or_else(|| self.end()))
    }

    /// Whether a reader may stand at `offset`: from the log's start to its end, both included.
    ///
    /// # Errors
    /// [`LogError::OffsetOutOfRange`].
    pub(crate) fn check_range(&self, offset: i64) -> Result<(), LogError> {
        if (self.log_start_offset..=self.next_offset).contains(&offset) {
            return Ok(());
        }
        let (log_start_offset, next_offset) = (self.log_start_offset, self.next_offset);
        Err(LogError::OffsetOutOfRange { offset, log_start_offset, next_offset })
    }
}

impl LogView {
    pub(super) fn of(files: LogFiles, segments: Vec<Segment>, generation: u64) -> Self {
        Self { files, segments, next: None, generation }
    }

    /// Whether the names of the segments viewed still stand for what they did: what was found holds only then.
    pub(crate) fn is_current(&self, log: &Log) -> bool {
        self.generation == log.generation
    }

    /// As [`Log::read`], in the segments viewed. May wait for the disk.
    ///
    /// # Errors
    /// [`LogError::Io`]; of the kind [`io::ErrorKind::NotFound`] when the segment was deleted meanwhile.
    pub(crate) fn read(&self, offset: i64, end: LogPosition, bytes_max: usize) -> Result<Viewed, LogError> {
        let mut bases = self.segments.iter().map(|segment| segment.base_offset).chain(self.next);
        let end = end.where_a_segment_begins(bases.any(|base| base == end.offset));
        match (read(&self.files, &self.segments, offset, end, bytes_max, ReadFrom::Disk)?, self.next) {
            (Some(slice), _) => Ok(Viewed::Found(slice)),
            (None, Some(next)) if next <= end.segment => Ok(Viewed::GoOn(next)),
            (None, _) => Ok(Viewed::Nothing),
        }
    }
}

impl LogView {
    /// Where the batch that holds `offset`, or the first one behind it, begins, if it is in these segments. May wait
    /// for the disk.
    ///
    /// # Errors
    /// As [`LogView::read`].
    pub(crate) fn position_of(&self, offset: i64) -> Result<Option<LogPosition>, LogError> {
        position_of(&self.files, &self.segments, offset, ReadFrom::Disk)
    }
}

impl LogError {
    /// Whether a file was deleted while it was looked for.
    pub(crate) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl LogPosition {
    /// The same place, told by the segment that begins there, if one does: compaction changes how long the one before
    /// is.
    fn where_a_segment_begins(self, begins: bool) -> Self {
        if begins { Self { segment: self.offset, position: 0, ..self } } else { self }
    }
}

fn read(
    files: &LogFiles,
    segments: &[Segment],
    offset: i64,
    end: LogPosition,
    bytes_max: usize,
    from: ReadFrom,
) -> Result<Option<LogSlice>, LogError> {
    if offset >= end.offset {
        return Ok(None);
    }
    for segment in segments {
        if segment.base_offset > end.segment {
            break;
        }
        let Some((position, header)) = segment.find(files, offset, from)? else { continue };
        let limit = if segment.base_offset == end.segment { end.position } else { segment.size };
        let Some(available) = limit.checked_sub(position).filter(|available| *available > 0) else { break };
        let length = available.min(bytes_max.max(header.size()) as u64) as usize;
        let file = segment.file(files).map_err(|source| LogError::Io { path: files.directory().to_owned(), source })?;
        return Ok(Some(LogSlice { file, position, length }));
    }
    Ok(None)
}

fn position_of(
    files: &LogFiles,
    segments: &[Segment],
    offset: i64,
    from: ReadFrom,
) -> Result<Option<LogPosition>, LogError> {
    for segment in segments {
        if let Some((position, header)) = segment.find(files, offset, from)? {
            let offset = header.base_offset.max(offset);
            return Ok(Some(LogPosition { offset, segment: segment.base_offset, position }));
        }
    }
    Ok(None)
}
