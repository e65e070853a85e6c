//! One segment: `<base offset, 20 digits>.log`, batches one behind the other, and its two sparse indexes.
//!
//! Its file is opened when it is needed. Clones are cheap views of what the segment held when they were made: a
//! reader takes one out of the partition's lock and waits for the disk without it.

use std::io::{self, IoSlice};
use std::sync::Arc;

use pillion_wire::records::BatchHeader;

use super::LogConfig;
use super::files::LogFiles;
use super::format::offset_index::OffsetIndexEntry;
use super::format::time_index::TimeIndexEntry;
use super::index_file::IndexFile;
use super::read::ReadFrom;
use crate::disk::{DiskFile, FileKind};

/// The least a file is grown ahead; it doubles with the segment up to [`LogConfig::grow_ahead_bytes`], so that ten
/// thousand partitions with a record each do not take ten gigabytes.
const GROW_AHEAD_BYTES_MIN: u64 = 16 * 1024;

/// A segment of a log.
#[derive(Clone)]
pub(super) struct Segment {
    pub(super) base_offset: i64,
    /// Bytes of whole batches; the file may be longer, with zeroes behind them.
    pub(super) size: u64,
    /// The file's length at most.
    pub(super) grown: u64,
    pub(super) offsets: IndexFile<OffsetIndexEntry>,
    pub(super) times: IndexFile<TimeIndexEntry>,
    /// Bytes of batches since the last index entry.
    bytes_since_entry: u32,
    /// The largest timestamp of its batches; −1 when there is none.
    pub(super) max_timestamp: i64,
    /// Last offset of the first batch with that timestamp.
    pub(super) max_timestamp_offset: i64,
    /// Timestamp of the first batch; −1 when it has none.
    first_timestamp: i64,
    /// When it was made or opened, milliseconds since 1970.
    created_ms: i64,
    /// Offset and position of the last batch, which is what a waiting consumer asks for next.
    pub(super) last_batch: Option<(i64, u64)>,
    /// Entries in its transaction index.
    pub(super) aborted: u32,
}

impl Segment {
    /// A segment with nothing in it yet.
    pub(super) fn empty(base_offset: i64, now_ms: i64) -> Self {
        Self {
            base_offset,
            size: 0,
            grown: 0,
            offsets: IndexFile::empty(),
            times: IndexFile::empty(),
            bytes_since_entry: 0,
            max_timestamp: -1,
            max_timestamp_offset: base_offset,
            first_timestamp: -1,
            created_ms: now_ms,
            last_batch: None,
            aborted: 0,
        }
    }

    /// The segment's file. Never made here: the segment may just have been deleted.
    pub(super) fn file(&self, files: &LogFiles) -> io::Result<Arc<dyn DiskFile>> {
        files.open_existing(self.base_offset, FileKind::Log)
    }

    /// Continues at `size`, where the batch of the last entry of `offsets` begins.
    pub(super) fn resume(
        &mut self,
        offsets: IndexFile<OffsetIndexEntry>,
        times: IndexFile<TimeIndexEntry>,
        size: u64,
        first_timestamp: i64,
    ) {
        if let Some(last) = times.last() {
            self.max_timestamp = last.timestamp;
            self.max_timestamp_offset = self.base_offset + i64::from(last.relative_offset);
        }
        (self.offsets, self.times, self.size, self.first_timestamp) = (offsets, times, size, first_timestamp);
    }

    /// Whether a batch must go to another segment.
    pub(super) fn must_roll(&self, header: &BatchHeader, config: &LogConfig, jitter_ms: i64, now_ms: i64) -> bool {
        let last_offset = header.last_offset();
        let index_is_full =
            |entries: u32, entry_bytes: u32| entries >= (config.segment_index_bytes / entry_bytes).max(1);
        if self.size == 0 {
            return last_offset - self.base_offset > i64::from(i32::MAX);
        }
        self.size + header.size() as u64 > config.segment_bytes
            || self.age(header.max_timestamp, now_ms) > config.segment_ms.saturating_sub(jitter_ms)
            || index_is_full(self.offsets.len(), 8)
            || index_is_full(self.times.len() + 1, 12)
            || last_offset - self.base_offset > i64::from(i32::MAX)
    }

    /// How old the segment is for a batch of this timestamp: by the records' time where they have one.
    fn age(&self, timestamp: i64, now_ms: i64) -> i64 {
        if self.first_timestamp >= 0 {
            timestamp.saturating_sub(self.first_timestamp)
        } else {
            now_ms.saturating_sub(self.created_ms)
        }
    }

    /// The largest timestamp of the first batch; −1 when there is none, or it cannot be read. May wait for the disk.
    pub(super) fn first_timestamp(&self, files: &LogFiles) -> i64 {
        if self.first_timestamp >= 0 || self.size == 0 {
            return self.first_timestamp;
        }
        let header = self.file(files).ok().and_then(|file| self.header_at(files, &*file, 0, ReadFrom::Disk).ok());
        header.map_or(-1, |header| header.max_timestamp)
    }

    /// Writes a batch, given as its stamped front and the rest, behind the others. On an error nothing was added.
    /// True when an index should be written.
    pub(super) fn append(
        &mut self,
        file: &dyn DiskFile,
        header: &BatchHeader,
        front: &[u8],
        rest: &[u8],
        config: &LogConfig,
    ) -> io::Result<bool> {
        let end = self.size + (front.len() + rest.len()) as u64;
        if config.grow_ahead_bytes > 0 && end > self.grown {
            let step = end.next_power_of_two().max(GROW_AHEAD_BYTES_MIN).min(config.grow_ahead_bytes);
            let target = end.next_multiple_of(step);
            // Growing ahead only makes syncs cheaper: where it is refused, the write says what is wrong. Some of it may
            // have been done all the same.
            let _ = file.grow(target);
            self.grown = target;
        }
        if let Err(error) = file.write_at(self.size, &mut [IoSlice::new(front), IoSlice::new(rest)]) {
            // Half a batch must not stay where the next one ends.
            self.grown = if file.truncate(self.size).is_ok() { self.size } else { self.grown.max(end) };
            return Err(error);
        }
        Ok(self.note(header, config.index_interval_bytes))
    }

    /// Takes a batch that stands at the segment's end into account; true when an index should be written.
    pub(super) fn note(&mut self, header: &BatchHeader, index_interval_bytes: u32) -> bool {
        let (size, last_offset) = (header.size() as u64, header.last_offset());
        if self.size == 0 {
            self.first_timestamp = header.max_timestamp;
        }
        if header.max_timestamp > self.max_timestamp {
            (self.max_timestamp, self.max_timestamp_offset) = (header.max_timestamp, last_offset);
        }
        let mut should_flush = false;
        if self.bytes_since_entry > index_interval_bytes
            && let (Ok(relative_offset), Ok(position)) =
                (u32::try_from(last_offset - self.base_offset), u32::try_from(self.size))
        {
            should_flush = self.offsets.push(OffsetIndexEntry { relative_offset, position });
            should_flush |= self.note_timestamp();
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry = self.bytes_since_entry.saturating_add(size as u32);
        self.last_batch = Some((header.base_offset, self.size));
        self.size += size;
        self.grown = self.grown.max(self.size);
        should_flush
    }

    /// Adds the largest timestamp to the time index, unless it is there.
    fn note_timestamp(&mut self) -> bool {
        let grows = self.times.last().is_none_or(|last| last.timestamp < self.max_timestamp);
        let relative_offset = u32::try_from(self.max_timestamp_offset - self.base_offset);
        match relative_offset {
            Ok(relative_offset) if grows && self.max_timestamp >= 0 => {
                self.times.push(TimeIndexEntry { timestamp: self.max_timestamp, relative_offset })
            }
            _ => false,
        }
    }

    /// Cuts the file to its batches and completes the indexes' files, as a clean stop leaves them.
    pub(super) fn complete(&mut self, files: &LogFiles) -> io::Result<()> {
        self.note_timestamp();
        self.trim(files)?;
        self.offsets.complete(files, self.base_offset)?;
        self.times.complete(files, self.base_offset)
    }

    /// Nothing is added any more.
    pub(super) fn mark_sealed(&mut self) {
        self.offsets.mark_sealed();
        self.times.mark_sealed();
        self.last_batch = None;
    }

    /// Whether the offset index and the time index have no file yet.
    pub(super) fn indexes_are_new(&self) -> (bool, bool) {
        (self.offsets.is_new(), self.times.is_new())
    }

    /// Cuts the file to its batches.
    pub(super) fn trim(&mut self, files: &LogFiles) -> io::Result<()> {
        if self.grown > self.size {
            self.file(files)?.truncate(self.size)?;
            self.grown = self.size;
        }
        Ok(())
    }
}
