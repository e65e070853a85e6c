//! Kafka's files beside a `.log`, byte by byte: what a value looks like on disk and back.
//!
//! Pure: bytes in, values out. Whoever calls this reads and writes the files. Invariants: what `encode` writes Kafka 4.4
//! reads and `decode` gives back; a decoder neither panics nor reserves memory by a number it was given.

pub(crate) mod leader_epoch_checkpoint;
pub(crate) mod names;
pub(crate) mod offset_checkpoint;
pub(crate) mod offset_index;
pub(crate) mod partition_metadata;
pub(crate) mod producer_snapshot;
pub(crate) mod swap_list;
#[cfg(test)]
mod tests;
mod text_checkpoint;
pub(crate) mod time_index;
pub(crate) mod transaction_index;

use thiserror::Error;

/// Bytes that are not of the format their file's name promises.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum FormatError {
    /// A version this program does not know.
    #[error("version {found} is not {expected}")]
    Version {
        /// The one it knows.
        expected: i32,
        /// The one there.
        found: i32,
    },
    /// Fewer or more bytes than the format has.
    #[error("{found} bytes where {expected} belong")]
    Length {
        /// Bytes the format has here.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The checksum does not match.
    #[error("checksum is {actual:08x}, the file says {expected:08x}")]
    Checksum {
        /// CRC-32C the file holds.
        expected: u32,
        /// CRC-32C of its bytes.
        actual: u32,
    },
    /// A line of a text file that is not what stands there.
    #[error("line {line} is not {expected}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What belongs there.
        expected: &'static str,
    },
    /// More or fewer entries than the file itself says.
    #[error("{found} entries where the file says {expected}")]
    Count {
        /// Entries the file claims.
        expected: i64,
        /// Entries there are.
        found: usize,
    },
}

/// `N` bytes from `at`; the caller has checked that `at + N` is inside `bytes`.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}
