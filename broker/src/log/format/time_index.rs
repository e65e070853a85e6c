//! `<base offset>.timeindex`: up to which offset no record is younger than a time.
//!
//! ```text
//! entry, 12 bytes, big endian; timestamps grow from one to the next, offsets do not shrink
//!  0 int64  timestamp          largest of the segment so far, milliseconds since 1970
//!  8 uint32 relative offset    of the record that has it, from the segment's base offset
//! ```
//!
//! A closed segment's last entry holds its largest timestamp. An entry of twelve zero bytes is no entry.

use super::field;

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 12;

/// An entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeIndexEntry {
    /// Milliseconds since 1970: the largest timestamp up to the offset.
    pub(crate) timestamp: i64,
    /// Offset of the record that has it, from the segment's base offset.
    pub(crate) relative_offset: u32,
}

impl TimeIndexEntry {
    /// The entry's bytes.
    pub(crate) fn encode(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.timestamp.to_be_bytes());
        bytes[8..].copy_from_slice(&self.relative_offset.to_be_bytes());
        bytes
    }

    /// The entry of these bytes; all of them are one.
    pub(crate) fn decode(bytes: [u8; ENTRY_BYTES]) -> Self {
        Self { timestamp: i64::from_be_bytes(field(&bytes, 0)), relative_offset: u32::from_be_bytes(field(&bytes, 8)) }
    }
}
