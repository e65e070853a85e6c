//! `<base offset>.txnindex`: the aborted transactions whose marker stands in the segment, in order of their markers.
//!
//! ```text
//! entry, 34 bytes, big endian
//!  0 int16 version             0
//!  2 int64 producer id
//! 10 int64 first offset        of the transaction's first record
//! 18 int64 last offset         of the marker that aborted it
//! 26 int64 last stable offset  once that marker was decided
//! ```

use super::{FormatError, field};

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 34;
const VERSION: i16 = 0;

/// An entry: a transaction whose records a `read_committed` consumer must not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AbortedTransaction {
    /// Whose it was.
    pub(crate) producer_id: i64,
    /// Offset of its first record.
    pub(crate) first_offset: i64,
    /// Offset of the marker that ended it.
    pub(crate) last_offset: i64,
    /// The last stable offset behind that marker: no earlier transaction reaches beyond it.
    pub(crate) last_stable_offset: i64,
}

impl AbortedTransaction {
    /// The entry's bytes.
    pub(crate) fn encode(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..2].copy_from_slice(&VERSION.to_be_bytes());
        bytes[2..10].copy_from_slice(&self.producer_id.to_be_bytes());
        bytes[10..18].copy_from_slice(&self.first_offset.to_be_bytes());
        bytes[18..26].copy_from_slice(&self.last_offset.to_be_bytes());
        bytes[26..].copy_from_slice(&self.last_stable_offset.to_be_bytes());
        bytes
    }

    /// The entry of these bytes.
    ///
    /// # Errors
    /// [`FormatError::Version`].
    pub(crate) fn decode(bytes: [u8; ENTRY_BYTES]) -> Result<Self, FormatError> {
        let version = i16::from_be_bytes(field(&bytes, 0));
        if version != VERSION {
            return Err(FormatError::Version { expected: VERSION.into(), found: version.into() });
        }
        Ok(Self {
            producer_id: i64::from_be_bytes(field(&bytes, 2)),
            first_offset: i64::from_be_bytes(field(&bytes, 10)),
            last_offset: i64::from_be_bytes(field(&bytes, 18)),
            last_stable_offset: i64::from_be_bytes(field(&bytes, 26)),
        })
    }
}
