//! Finding a batch in a segment: by the nearest index entry before it, then from header to header.
//!
//! An index entry is believed only where a batch stands that ends at or before the entry's offset, and an offset to be
//! left out only where the batch before it has its checksum: neither a wrong entry nor a wrong header hides a batch.

use std::io;

use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::LogError;
use super::files::LogFiles;
use super::format::offset_index::OffsetIndexEntry;
use super::read::ReadFrom;
use super::scan::read_whole;
use super::segment::Segment;
use crate::disk::{DiskFile, FileKind};

impl Segment {
    /// Position and header of the batch that holds `offset`, or of the first one behind it.
    ///
    /// # Errors
    /// [`LogError::NotCached`], [`LogError::Io`], [`LogError::Damaged`].
    pub(super) fn find(
        &self,
        files: &LogFiles,
        offset: i64,
        from: ReadFrom,
    ) -> Result<Option<(u64, BatchHeader)>, LogError> {
        let mut position = match self.last_batch {
            Some((base, position)) if base <= offset => position,
            _ => self.position_before(files, offset, from)?,
        };
        let file = self.file(files).map_err(|source| self.failed(files, FileKind::Log, source))?;
        let (mut found, mut before) = (None, None);
        while position < self.size {
            let header = self.header_at(files, &*file, position, from)?;
            if header.last_offset() >= offset {
                found = Some((position, header));
                break;
            }
            before = Some((position, header));
            position += header.size() as u64;
        }
        let is_left_out = found.is_none_or(|(_, header)| header.base_offset > offset);
        if let Some((at, header)) = before.filter(|_| is_left_out) {
            // Compaction has left the offset out, or the batch before it does not say any more that it holds it.
            self.verify(files, &*file, at, &header, from)?;
        }
        Ok(found)
    }

    /// Position of a batch at or before the one that holds `offset`.
    ///
    /// # Errors
    /// As [`Segment::find`].
    pub(super) fn position_before(&self, files: &LogFiles, offset: i64, from: ReadFrom) -> Result<u64, LogError> {
        let relative = offset - self.base_offset;
        let is_before = |entry: OffsetIndexEntry| i64::from(entry.relative_offset) <= relative;
        let entry = self.offsets.last_where(files, self.base_offset, from, is_before);
        let entry = entry.map_err(|source| self.failed(files, FileKind::OffsetIndex, source))?;
        match entry {
            Some(entry) if self.stands(files, entry, from)? => Ok(u64::from(entry.position)),
            _ => Ok(0),
        }
    }

    /// An offset behind every record below byte `position`, as near as the index knows.
    ///
    /// # Errors
    /// As [`Segment::find`].
    pub(super) fn offset_behind(&self, files: &LogFiles, position: u64) -> Result<Option<i64>, LogError> {
        let is_before = |entry: OffsetIndexEntry| u64::from(entry.position) < position;
        let entry = self.offsets.first_not(files, self.base_offset, ReadFrom::Disk, is_before);
        let entry = entry.map_err(|source| self.failed(files, FileKind::OffsetIndex, source))?;
        match entry {
            Some(entry) if self.stands(files, entry, ReadFrom::Disk)? => {
                Ok(Some(self.base_offset + i64::from(entry.relative_offset) + 1))
            }
            _ => Ok(None),
        }
    }

    /// Whether an index entry leads to a batch that ends at or before the entry's offset.
    fn stands(&self, files: &LogFiles, entry: OffsetIndexEntry, from: ReadFrom) -> Result<bool, LogError> {
        let (position, last_offset) = (u64::from(entry.position), self.base_offset + i64::from(entry.relative_offset));
        let file = self.file(files).map_err(|source| self.failed(files, FileKind::Log, source))?;
        match self.header_at(files, &*file, position, from) {
            Ok(header) if header.last_offset() <= last_offset => Ok(true),
            Ok(_) | Err(LogError::Damaged { .. }) => {
                tracing::warn!(
                    path = %files.path(self.base_offset, FileKind::OffsetIndex).display(), position,
                    "an index leads astray, so its segment is read from the start: delete the index while the broker is stopped, it is made again"
                );
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Position of a batch at or before `position`.
    pub(super) fn position_within(&self, files: &LogFiles, position: u64) -> io::Result<u64> {
        let is_before = |entry: OffsetIndexEntry| u64::from(entry.position) <= position;
        let entry = self.offsets.last_where(files, self.base_offset, ReadFrom::Disk, is_before)?;
        Ok(entry.map_or(0, |entry| u64::from(entry.position)))
    }

    /// Position and header of the first batch that is `wanted` by its largest timestamp and last offset, which must
    /// not be before the first batch of at least `timestamp`. May wait for the disk.
    pub(super) fn find_timestamp(
        &self,
        files: &LogFiles,
        timestamp: i64,
        wanted: impl Fn(i64, i64) -> bool,
    ) -> Result<Option<(u64, BatchHeader)>, LogError> {
        let entry = self.times.last_where(files, self.base_offset, ReadFrom::Disk, |entry| entry.timestamp < timestamp);
        let entry = entry.map_err(|source| self.failed(files, FileKind::TimeIndex, source))?;
        let before = entry.map(|entry| self.base_offset + i64::from(entry.relative_offset));
        let start = before.map_or(Ok(0), |offset| self.position_before(files, offset, ReadFrom::Disk))?;
        self.scan(files, start, ReadFrom::Disk, |header| wanted(header.max_timestamp, header.last_offset()))
    }

    fn scan(
        &self,
        files: &LogFiles,
        mut position: u64,
        from: ReadFrom,
        wanted: impl Fn(&BatchHeader) -> bool,
    ) -> Result<Option<(u64, BatchHeader)>, LogError> {
        let file = self.file(files).map_err(|source| self.failed(files, FileKind::Log, source))?;
        while position < self.size {
            let header = self.header_at(files, &*file, position, from)?;
            if wanted(&header) {
                return Ok(Some((position, header)));
            }
            position += header.size() as u64;
        }
        Ok(None)
    }

    /// Checks the checksum of the batch at `position`.
    fn verify(
        &self,
        files: &LogFiles,
        file: &dyn DiskFile,
        position: u64,
        header: &BatchHeader,
        from: ReadFrom,
    ) -> Result<(), LogError> {
        if from == ReadFrom::Memory {
            return Err(LogError::NotCached);
        }
        let path = files.path(self.base_offset, FileKind::Log);
        let batch = read_whole(file, &path, position, header.size())?;
        BatchHeader::verify(&batch).map(|_| ()).map_err(|_| LogError::Damaged { path, position })
    }

    pub(super) fn header_at(
        &self,
        files: &LogFiles,
        file: &dyn DiskFile,
        position: u64,
        from: ReadFrom,
    ) -> Result<BatchHeader, LogError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = match from {
            ReadFrom::Memory => file.read_cached_at(position, &mut bytes),
            ReadFrom::Disk => file.read_at(position, &mut bytes),
        };
        let damaged = || LogError::Damaged { path: files.path(self.base_offset, FileKind::Log), position };
        match read {
            Ok(HEADER_BYTES) => {
                let header = BatchHeader::parse(&bytes).map_err(|_| damaged())?;
                let end = position.saturating_add(header.size() as u64);
                if end > self.size { Err(damaged()) } else { Ok(header) }
            }
            Ok(_) if from == ReadFrom::Memory => Err(LogError::NotCached),
            Ok(_) => Err(damaged()),
            Err(source) => Err(self.failed(files, FileKind::Log, source)),
        }
    }

    fn failed(&self, files: &LogFiles, kind: FileKind, source: io::Error) -> LogError {
        match source.kind() {
            io::ErrorKind::WouldBlock => LogError::NotCached,
            _ => LogError::Io { path: files.path(self.base_offset, kind), source },
        }
    }
}
