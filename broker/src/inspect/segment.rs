//! A segment's file, batch by batch: also what stands between, behind or instead of them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pillion_wire::records::{
    BatchHeader, Compression, DECOMPRESSED_BYTES_MAX, HEADER_BYTES, Record, TimestampType, read_batch,
};
use serde::Serialize;

use super::{InspectError, resync};
use crate::error_codes::in_words;

/// Read at a time when a checksum is computed.
const CHUNK_BYTES: usize = 256 * 1024;
/// Where a batch's checksummed part begins.
const CHECKSUMMED_FROM: u64 = 21;
/// Records a batch may claim and still be looked into: each takes some hundred bytes of memory.
const RECORDS_MAX: i32 = 1 << 20;

/// A segment's file, opened for reading.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    file: File,
    length: u64,
}

/// A batch: its place, its header's fields, and whether its checksum is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "drawn byte by byte in `pillion_wire::records`")]
pub struct Batch {
    /// Bytes from the file's start.
    pub position: u64,
    /// Bytes of the whole batch.
    pub size: u64,
    pub base_offset: i64,
    pub last_offset: i64,
    /// Records it claims; fewer than its offsets where compaction has removed some.
    pub count: i32,
    /// `none`, `gzip`, `snappy`, `lz4`, `zstd`, or `unknown`.
    pub compression: &'static str,
    pub leader_epoch: i32,
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
    /// Sequence of the last record; −1 as the base sequence is.
    pub last_sequence: i32,
    pub transactional: bool,
    pub control: bool,
    /// `CreateTime` or `LogAppendTime`.
    pub timestamp_type: &'static str,
    pub max_timestamp: i64,
    /// When compaction may remove the batch's tombstones and markers, in milliseconds since 1970.
    pub delete_horizon_ms: Option<i64>,
    /// CRC-32C that the header holds.
    pub checksum: u32,
    /// Whether it is that of the bytes.
    pub checksum_valid: bool,
}

/// What stands at a place of a segment's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A batch.
    Batch(Batch),
    /// Zeroes up to the file's end: it was grown ahead of what is written.
    Zeroes {
        /// Where they begin.
        position: u64,
        /// How many.
        bytes: u64,
    },
    /// Bytes that are no batch.
    Unreadable {
        /// Where they begin.
        position: u64,
        /// How many: up to the next whole batch, or the file's end.
        bytes: u64,
        /// What is wrong with them.
        why: String,
    },
}

/// The pieces of a file, from its start to the length it had when it was opened.
#[derive(Debug)]
pub struct Pieces<'a> {
    segment: &'a Segment,
    position: u64,
    /// Behind the last batch whose checksum was right.
    next_offset: i64,
    search: resync::Search,
}

impl Segment {
    /// Opens a file.
    ///
    /// # Errors
    /// [`InspectError::Io`].
    pub fn open(path: &Path) -> Result<Self, InspectError> {
        let open = || {
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let (file, length) = open().map_err(|source| InspectError::io(path, source))?;
        Ok(Self { path: path.to_owned(), file, length })
    }

    /// Its length when it was opened, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What it holds.
    #[must_use]
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces { segment: self, position: 0, next_offset: 0, search: resync::Search::default() }
    }

    /// The records of a batch that [`Segment::pieces`] found here, decompressed; also those of a control batch.
    ///
    /// # Errors
    /// [`InspectError`] when the batch is too large to be held in memory, its checksum is wrong, or its records are not
    /// what the format says.
    pub fn records(&self, batch: &Batch) -> Result<Vec<Record>, InspectError> {
        if batch.size > DECOMPRESSED_BYTES_MAX as u64 || batch.count > RECORDS_MAX {
            return Err(InspectError::BatchTooLarge { bytes: batch.size, records: batch.count });
        }
        let mut bytes = vec![0; batch.size as usize];
        let read = self.read(batch.position, &mut bytes)?;
        bytes.truncate(read);
        Ok(read_batch(&Bytes::from(bytes))?.1)
    }

    /// Reads as much of `buffer` as the file has.
    pub(super) fn read(&self, position: u64, buffer: &mut [u8]) -> Result<usize, InspectError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(InspectError::io(&self.path, source)),
            }
        }
        Ok(filled)
    }

    /// The header at `position`, when a batch that fits into the file may begin there.
    pub(super) fn header(&self, position: u64) -> Result<Result<BatchHeader, String>, InspectError> {
        let mut bytes = [0; HEADER_BYTES];
        let read = self.read(position, &mut bytes)?;
        let left = self.length.saturating_sub(position);
        Ok(match BatchHeader::parse(&bytes[..read]) {
            Ok(header) if header.size() as u64 > left => {
                Err(format!("a batch of {} bytes with {left} left in the file", header.size()))
            }
            Ok(header) => Ok(header),
            Err(error) => Err(in_words(&error)),
        })
    }

    /// Whether the batch at `position` has the checksum its header says.
    pub(super) fn is_whole(&self, position: u64, header: &BatchHeader) -> Result<bool, InspectError> {
        let mut checksum = 0;
        let whole = self.read_through(position + CHECKSUMMED_FROM, position + header.size() as u64, |chunk| {
            checksum = crc32c::crc32c_append(checksum, chunk);
            true
        })?;
        Ok(whole && checksum == header.checksum)
    }

    /// Whether there are only zeroes from `position` on.
    fn is_zero(&self, position: u64) -> Result<bool, InspectError> {
        self.read_through(position, self.length, |chunk| chunk.iter().all(|byte| *byte == 0))
    }

    /// Gives the bytes between to `take` until it answers false; whether it had them all.
    fn read_through(&self, from: u64, to: u64, mut take: impl FnMut(&[u8]) -> bool) -> Result<bool, InspectError> {
        let mut chunk = vec![0; (to - from).min(CHUNK_BYTES as u64) as usize];
        let mut position = from;
        while position < to {
            let wanted = (to - position).min(CHUNK_BYTES as u64) as usize;
            let read = self.read(position, &mut chunk[..wanted])?;
            if read < wanted || !take(&chunk[..read]) {
                return Ok(false);
            }
            position += read as u64;
        }
        Ok(true)
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece, InspectError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.segment.length {
            return None;
        }
        let piece = self.piece(self.position);
        if piece.is_err() {
            self.position = self.segment.length;
        }
        Some(piece)
    }
}

impl Pieces<'_> {
    fn piece(&mut self, position: u64) -> Result<Piece, InspectError> {
        let header = match self.segment.header(position)? {
            Ok(header) => header,
            Err(_) if self.segment.is_zero(position)? => {
                self.position = self.segment.length;
                return Ok(Piece::Zeroes { position, bytes: self.segment.length - position });
            }
            Err(why) => return self.unreadable(position, why),
        };
        let whole = self.segment.is_whole(position, &header)?;
        let behind = position + header.size() as u64;
        // A batch that is not whole may have a wrong length too; then what follows it tells nothing.
        if !whole && !self.goes_on(&header, behind)? {
            return self.unreadable(position, format!("a batch whose checksum is not {:08x}", header.checksum));
        }
        let batch = Batch::new(position, &header, whole);
        if whole {
            self.next_offset = batch.last_offset.saturating_add(1);
        }
        self.position = behind;
        Ok(Piece::Batch(batch))
    }

    /// Whether what stands behind a batch could be the log's next.
    fn goes_on(&self, header: &BatchHeader, behind: u64) -> Result<bool, InspectError> {
        if behind >= self.segment.length {
            return Ok(header.base_offset >= self.next_offset);
        }
        match self.segment.header(behind)? {
            Ok(next) => Ok(next.base_offset > header.base_offset && self.segment.is_whole(behind, &next)?),
            Err(_) => self.segment.is_zero(behind),
        }
    }

    fn unreadable(&mut self, position: u64, why: String) -> Result<Piece, InspectError> {
        let next = self.search.next_batch(self.segment, position + 1, self.next_offset)?;
        self.position = next.unwrap_or(self.segment.length);
        Ok(Piece::Unreadable { position, bytes: self.position - position, why })
    }
}

impl Batch {
    fn new(position: u64, header: &BatchHeader, checksum_valid: bool) -> Self {
        Self {
            position,
            size: header.size() as u64,
            base_offset: header.base_offset,
            last_offset: header.base_offset.saturating_add(header.last_offset_delta.into()),
            count: header.record_count,
            compression: match header.compression() {
                Ok(Compression::None) => "none",
                Ok(Compression::Gzip) => "gzip",
                Ok(Compression::Snappy) => "snappy",
                Ok(Compression::Lz4) => "lz4",
                Ok(Compression::Zstd) => "zstd",
                Err(_) => "unknown",
            },
            leader_epoch: header.leader_epoch,
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            base_sequence: header.base_sequence,
            last_sequence: if header.base_sequence < 0 { header.base_sequence } else { header.last_sequence() },
            transactional: header.is_transactional(),
            control: header.is_control(),
            timestamp_type: match header.timestamp_type() {
                TimestampType::CreateTime => "CreateTime",
                TimestampType::LogAppendTime => "LogAppendTime",
            },
            max_timestamp: header.max_timestamp,
            delete_horizon_ms: (header.attributes & 0x40 != 0).then_some(header.base_timestamp),
            checksum: header.checksum,
            checksum_valid,
        }
    }
}
