//! One segment file, `<base offset, 20 digits>.log`: batches one behind the other.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::LogError;
use super::index::SparseIndex;
use super::read::ReadFrom;
use crate::disk::{Disk, DiskFile};

/// A segment of a log.
pub(super) struct Segment {
    base_offset: i64,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    /// Bytes of whole batches; the file may be longer, with zeroes behind them.
    size: u64,
    /// The file's length.
    grown: u64,
    index: SparseIndex,
    max_timestamp: i64,
    /// Offset and position of the last batch, which is what a waiting consumer asks for next.
    last_batch: Option<(i64, u64)>,
}

impl Segment {
    /// Opens the segment's file, making it when missing; what it holds must still be scanned.
    pub(super) fn open(disk: &dyn Disk, directory: &Path, base_offset: i64) -> io::Result<Self> {
        let path = directory.join(format!("{base_offset:020}.log"));
        let file = disk.open(&path)?;
        let grown = file.length()?;
        let index = SparseIndex::default();
        Ok(Self { base_offset, path, file, size: 0, grown, index, max_timestamp: -1, last_batch: None })
    }

    /// Offset of the first record it may hold.
    pub(super) fn base_offset(&self) -> i64 {
        self.base_offset
    }

    /// Bytes of whole batches.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// The file's length when it was opened, or as it was grown.
    pub(super) fn grown(&self) -> u64 {
        self.grown
    }

    /// The file.
    pub(super) fn file(&self) -> &Arc<dyn DiskFile> {
        &self.file
    }

    /// The largest timestamp of its batches; −1 when there is none.
    pub(super) fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Writes a batch, given as its stamped front and the rest, behind the others. On an error nothing was added.
    pub(super) fn append(&mut self, header: &BatchHeader, front: &[u8], rest: &[u8], ahead: u64) -> io::Result<()> {
        let size = (front.len() + rest.len()) as u64;
        if ahead > 0 && self.size + size > self.grown {
            let target = (self.size + size).next_multiple_of(ahead);
            // Growing ahead only makes syncs cheaper: where it is refused, the write says what is wrong.
            if self.file.grow(target).is_ok() {
                self.grown = target;
            }
        }
        self.file.write_at(self.size, &mut [IoSlice::new(front), IoSlice::new(rest)])?;
        self.note(header);
        Ok(())
    }

    /// Takes a batch that stands at the segment's end into account.
    pub(super) fn note(&mut self, header: &BatchHeader) {
        let size = header.size() as u64;
        self.index.note(header.base_offset - self.base_offset, self.size, size, self.max_timestamp);
        self.last_batch = Some((header.base_offset, self.size));
        self.max_timestamp = self.max_timestamp.max(header.max_timestamp);
        self.size += size;
        self.grown = self.grown.max(self.size);
    }

    /// Cuts the file to its batches.
    pub(super) fn trim(&mut self) -> io::Result<()> {
        if self.grown > self.size {
            self.file.truncate(self.size)?;
            self.grown = self.size;
        }
        Ok(())
    }

    /// Position and header of the batch that holds `offset`, or of the first one behind it.
    pub(super) fn find(&self, offset: i64, from: ReadFrom) -> Result<Option<(u64, BatchHeader)>, LogError> {
        let start = match self.last_batch {
            Some((base, position)) if base <= offset => position,
            _ => self.index.position_before(offset - self.base_offset),
        };
        self.scan(start, from, |header| header.last_offset() >= offset)
    }

    /// Position and header of the first batch with a timestamp of at least `timestamp`.
    pub(super) fn find_timestamp(&self, timestamp: i64) -> Result<Option<(u64, BatchHeader)>, LogError> {
        let start = self.index.position_before_timestamp(timestamp);
        self.scan(start, ReadFrom::Disk, |header| header.max_timestamp >= timestamp)
    }

    fn scan(
        &self,
        mut position: u64,
        from: ReadFrom,
        wanted: impl Fn(&BatchHeader) -> bool,
    ) -> Result<Option<(u64, BatchHeader)>, LogError> {
        while position < self.size {
            let header = self.header_at(position, from)?;
            if wanted(&header) {
                return Ok(Some((position, header)));
            }
            position += header.size() as u64;
        }
        Ok(None)
    }

    fn header_at(&self, position: u64, from: ReadFrom) -> Result<BatchHeader, LogError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = match from {
            ReadFrom::Memory => self.file.read_cached_at(position, &mut bytes),
            ReadFrom::Disk => self.file.read_at(position, &mut bytes),
        };
        match read {
            Ok(HEADER_BYTES) => {
                BatchHeader::parse(&bytes).map_err(|_| LogError::Damaged { path: self.path.clone(), position })
            }
            Ok(_) if from == ReadFrom::Memory => Err(LogError::NotCached),
            Ok(_) => Err(LogError::Damaged { path: self.path.clone(), position }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(LogError::NotCached),
            Err(source) => Err(LogError::Io { path: self.path.clone(), source }),
        }
    }
}
