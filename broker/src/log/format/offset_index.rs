//! `<base offset>.index`: where in a segment some of its batches begin.
//!
//! ```text
//! entry, 8 bytes, big endian; offsets and positions grow from one to the next
//!  0 uint32 relative offset    of the last record of the batch, from the segment's base offset
//!  4 uint32 position           of the batch's first byte in the `.log`
//! ```
//!
//! An entry of eight zero bytes is no entry: files are made at their largest size and cut when they are closed, and
//! a batch at position 0 never gets one.

use super::field;

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 8;

/// An entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetIndexEntry {
    /// Offset of the batch's last record, from the segment's base offset.
    pub(crate) relative_offset: u32,
    /// Where the batch begins, in bytes from the segment's start.
    pub(crate) position: u32,
}

impl OffsetIndexEntry {
    /// The entry's bytes.
    pub(crate) fn encode(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.relative_offset.to_be_bytes());
        bytes[4..].copy_from_slice(&self.position.to_be_bytes());
        bytes
    }

    /// The entry of these bytes; all of them are one.
    pub(crate) fn decode(bytes: [u8; ENTRY_BYTES]) -> Self {
        Self { relative_offset: u32::from_be_bytes(field(&bytes, 0)), position: u32::from_be_bytes(field(&bytes, 4)) }
    }
}
