//! The batches of one sealed segment, one after the other, read in chunks of bounded size.
//!
//! Every batch is checked before it is given out: its checksum, and that its offsets lie behind those before it and
//! inside the segment, for base offsets are outside the checksum. Memory is one chunk, or one batch where that is
//! larger; what a batch claims to be is held against the segment's size first.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use pillion_wire::records::{BatchHeader, HEADER_BYTES, RecordsError};

use super::CompactionError;
use crate::disk::DiskFile;

/// Opens a segment's file: thousands of small segments are not all open at once.
pub(crate) type OpenSegment = Arc<dyn Fn() -> io::Result<Arc<dyn DiskFile>>>;

/// A segment that is no longer written to.
#[derive(Clone)]
pub(crate) struct SealedSegment {
    /// Its base offset.
    pub(crate) base_offset: i64,
    /// Offset before which it ends: the next segment's base offset.
    pub(crate) end_offset: i64,
    /// Opens its file, which retention may have deleted meanwhile.
    pub(crate) open: OpenSegment,
    /// Bytes of its batches.
    pub(crate) bytes: u64,
    /// Its path, for errors.
    pub(crate) path: PathBuf,
}

/// A batch and where it stood.
pub(super) struct Batch {
    /// Its header.
    pub(super) header: BatchHeader,
    /// All its bytes.
    pub(super) bytes: Bytes,
    /// Bytes from the segment's start.
    pub(super) position: u64,
}

/// Reads a segment's batches in order.
pub(super) struct Batches<'a> {
    segment: &'a SealedSegment,
    /// Its file, once it was read from.
    file: Option<Arc<dyn DiskFile>>,
    chunk_bytes: usize,
    /// What was read and not given out yet.
    chunk: Bytes,
    /// Where the chunk begins.
    position: u64,
    next_offset: i64,
}

impl<'a> Batches<'a> {
    /// A reader at the segment's start that reads `chunk_bytes` at a time.
    pub(super) fn new(segment: &'a SealedSegment, chunk_bytes: usize) -> Self {
        let chunk_bytes = chunk_bytes.max(HEADER_BYTES);
        Self { segment, file: None, chunk_bytes, chunk: Bytes::new(), position: 0, next_offset: segment.base_offset }
    }

    /// The next batch; `None` at the end. `progress` is told how many bytes are about to be read, and may wait to
    /// keep the cleaning slow; when it answers `false` the cleaning ends.
    ///
    /// # Errors
    /// [`CompactionError`] when the file cannot be read, or holds no right batch here.
    pub(super) fn next(&mut self, progress: &mut dyn FnMut(usize) -> bool) -> Result<Option<Batch>, CompactionError> {
        let left = self.segment.bytes - self.position;
        if left == 0 {
            return Ok(None);
        }
        if self.chunk.len() < HEADER_BYTES {
            self.fill(HEADER_BYTES, progress)?;
        }
        let header = BatchHeader::parse(&self.chunk).map_err(|source| self.damaged(source))?;
        let size = header.size();
        if size as u64 > left {
            return Err(self.damaged(RecordsError::Truncated { needed: size, left: left as usize }));
        }
        if self.chunk.len() < size {
            self.fill(size, progress)?;
        }
        let header = BatchHeader::verify(&self.chunk).map_err(|source| self.damaged(source))?;
        let in_order = header.base_offset >= self.next_offset && header.last_offset_delta >= 0;
        // Compared without a sum, which a false base offset could overflow.
        let room = self.segment.end_offset.saturating_sub(header.base_offset);
        if !in_order || i64::from(header.last_offset_delta) >= room {
            let (path, position) = (self.segment.path.clone(), self.position);
            return Err(CompactionError::OutOfOrder { path, position, offset: header.base_offset });
        }
        let batch = Batch { header, bytes: self.chunk.split_to(size), position: self.position };
        self.position += size as u64;
        self.next_offset = header.next_offset();
        Ok(Some(batch))
    }

    /// Reads on until the chunk holds `needed` bytes, or all the segment has.
    fn fill(&mut self, needed: usize, progress: &mut dyn FnMut(usize) -> bool) -> Result<(), CompactionError> {
        let left = usize::try_from(self.segment.bytes - self.position).unwrap_or(usize::MAX);
        let target = needed.max(self.chunk_bytes).min(left);
        let kept = self.chunk.len();
        if !progress(target - kept) {
            return Err(CompactionError::Stopped);
        }
        let mut chunk = BytesMut::with_capacity(target);
        chunk.extend_from_slice(&self.chunk);
        chunk.resize(target, 0);
        self.chunk = Bytes::new();
        let unreadable = |source| CompactionError::Read { path: self.segment.path.clone(), source };
        let file = match self.file.take() {
            Some(file) => file,
            None => (self.segment.open)().map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => CompactionError::Stopped,
                _ => unreadable(error),
            })?,
        };
        let read = file.read_at(self.position + kept as u64, &mut chunk[kept..]).map_err(unreadable)?;
        self.file = Some(file);
        chunk.truncate(kept + read);
        self.chunk = chunk.freeze();
        Ok(())
    }

    fn damaged(&self, source: RecordsError) -> CompactionError {
        CompactionError::Damaged { path: self.segment.path.clone(), position: self.position, source }
    }
}
