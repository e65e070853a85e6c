//! Walking a segment file batch by batch, in pieces of bounded size.

use std::io;
use std::path::Path;
use std::sync::Arc;

use pillion_wire::records::{BatchHeader, HEADER_BYTES};

use super::LogError;
use crate::disk::DiskFile;

/// Bytes read at once.
const CHUNK_BYTES: u64 = 256 * 1024;
/// Where a batch's checksum begins.
const CHECKSUMMED_FROM: u64 = 21;

/// Walks batches from a position to an end.
pub(super) struct BatchScanner {
    file: Arc<dyn DiskFile>,
    position: u64,
    end: u64,
    /// Bytes of the file from `buffered_from` on.
    buffer: Vec<u8>,
    buffered_from: u64,
}

impl BatchScanner {
    /// A walk over `file` from `position`, where a batch begins, to `end`.
    pub(super) fn new(file: Arc<dyn DiskFile>, position: u64, end: u64) -> Self {
        Self { file, position, end, buffer: Vec::new(), buffered_from: position }
    }

    /// Where the next batch would begin.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next batch's position and header; `None` at the end, or where no whole batch stands.
    pub(super) fn next_header(&mut self) -> io::Result<Option<(u64, BatchHeader)>> {
        let at = self.position;
        let Some(header) = self.header()? else { return Ok(None) };
        self.position += header.size() as u64;
        Ok(Some((at, header)))
    }

    /// As [`BatchScanner::next_header`], with the checksum recomputed.
    pub(super) fn next_verified(&mut self) -> io::Result<Option<(u64, BatchHeader)>> {
        let at = self.position;
        let Some(header) = self.header()? else { return Ok(None) };
        let end = at + header.size() as u64;
        if self.checksum(at + CHECKSUMMED_FROM, end)? != Some(header.checksum) {
            return Ok(None);
        }
        self.position = end;
        Ok(Some((at, header)))
    }

    fn header(&mut self) -> io::Result<Option<BatchHeader>> {
        let at = self.position;
        if at + HEADER_BYTES as u64 > self.end {
            return Ok(None);
        }
        let Some(bytes) = self.bytes(at, HEADER_BYTES)? else { return Ok(None) };
        let Ok(header) = BatchHeader::parse(bytes) else { return Ok(None) };
        let fits = header.last_offset_delta >= 0 && at + header.size() as u64 <= self.end;
        Ok(fits.then_some(header))
    }

    /// CRC-32C of a range; `None` when the file ends early.
    fn checksum(&mut self, mut position: u64, end: u64) -> io::Result<Option<u32>> {
        let mut checksum = 0;
        while position < end {
            let wanted = (end - position).min(CHUNK_BYTES) as usize;
            let wanted = match self.buffered(position) {
                0 => wanted,
                buffered => wanted.min(buffered),
            };
            let Some(bytes) = self.bytes(position, wanted)? else { return Ok(None) };
            checksum = crc32c::crc32c_append(checksum, bytes);
            position += wanted as u64;
        }
        Ok(Some(checksum))
    }

    /// Buffered bytes from `position` on.
    fn buffered(&self, position: u64) -> usize {
        let skipped = position.checked_sub(self.buffered_from).map(|skipped| skipped as usize);
        skipped.map_or(0, |skipped| self.buffer.len().saturating_sub(skipped))
    }

    /// `length` bytes at `position`; `None` when the file ends early.
    fn bytes(&mut self, position: u64, length: usize) -> io::Result<Option<&[u8]>> {
        if self.buffered(position) < length {
            let left = self.end.saturating_sub(position);
            self.buffer.resize(left.min(CHUNK_BYTES).max(length as u64) as usize, 0);
            let read = self.file.read_at(position, &mut self.buffer)?;
            self.buffer.truncate(read);
            self.buffered_from = position;
            if read < length {
                return Ok(None);
            }
        }
        let start = (position - self.buffered_from) as usize;
        Ok(Some(&self.buffer[start..start + length]))
    }
}

/// A whole batch's bytes.
///
/// # Errors
/// [`LogError::Io`], [`LogError::Damaged`].
pub(super) fn read_whole(file: &dyn DiskFile, path: &Path, position: u64, size: usize) -> Result<Vec<u8>, LogError> {
    let mut batch = vec![0; size];
    match file.read_at(position, &mut batch) {
        Ok(read) if read == size => Ok(batch),
        Ok(_) => Err(LogError::Damaged { path: path.to_owned(), position }),
        Err(source) => Err(LogError::Io { path: path.to_owned(), source }),
    }
}
