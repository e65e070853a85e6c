//! What can be wrong with a record batch.

use thiserror::Error;

use crate::DecodeError;

/// A batch that is not one.
#[derive(Debug, Error)]
pub enum RecordsError {
    /// Fewer bytes than a header, or than the header says.
    #[error("batch of {needed} bytes in {left} bytes")]
    Truncated {
        /// Bytes the batch takes.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// A batch length too small for the header.
    #[error("batch length {0} is below the header's own")]
    LengthTooSmall(i32),
    /// A format other than v2.
    #[error("magic {0} is not 2")]
    UnsupportedMagic(i8),
    /// The checksum does not match.
    #[error("checksum is {actual:08x}, header says {expected:08x}")]
    ChecksumMismatch {
        /// CRC-32C the header holds.
        expected: u32,
        /// CRC-32C of the bytes.
        actual: u32,
    },
    /// Attribute bits 0–2 name no codec.
    #[error("compression codec {0} is not known")]
    UnknownCompression(u8),
    /// The codec refused the bytes.
    #[error("records do not decompress")]
    Compression(#[source] std::io::Error),
    /// Decompressed records go on beyond the limit.
    #[error("records decompress to more than {0} bytes")]
    TooLarge(usize),
    /// A record does not follow its format.
    #[error("record {index} is malformed")]
    MalformedRecord {
        /// Its position in the batch.
        index: i32,
        /// What its bytes lack.
        #[source]
        source: DecodeError,
    },
    /// Bytes behind the last record, or a record longer than it says.
    #[error("record {index} does not end where its length says")]
    RecordLength {
        /// Its position in the batch.
        index: i32,
    },
    /// A record whose offset is not behind the one before it, or is behind the batch's last.
    #[error("record {index} has an offset out of order")]
    RecordOffset {
        /// Its position in the batch.
        index: i32,
    },
}
