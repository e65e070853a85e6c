//! What can be wrong with bytes, or with a value for a version.

use thiserror::Error;

/// Bytes that are not the message they claim to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes end before the value does.
    #[error("{needed} bytes expected, {left} left")]
    Truncated {
        /// Bytes the next value takes.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// An array claims more elements than the bytes left could hold.
    #[error("array of {count} elements in {left} bytes")]
    ArrayTooLong {
        /// Elements claimed.
        count: usize,
        /// Bytes left.
        left: usize,
    },
    /// The decoded form would take more memory than a frame of this size may.
    #[error("message would take more than its share of memory")]
    TooLarge,
    /// A length below zero where null is not allowed, or below −1.
    #[error("length {0} is not allowed here")]
    InvalidLength(i64),
    /// A variable-length integer of more bytes than its type has.
    #[error("variable-length integer is too long")]
    VarintTooLong,
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    InvalidUtf8,
    /// A struct claims more tagged fields than any has.
    #[error("{0} tagged fields in one struct")]
    TooManyTaggedFields(usize),
    /// A tagged field that is there twice, or behind one with a larger tag.
    #[error("tagged field {0} is there twice or out of order")]
    DuplicateTag(u32),
    /// A tagged field that is longer than its content.
    #[error("tagged field {0} has bytes left over")]
    TagNotConsumed(u32),
    /// A version outside the message's range.
    #[error("version {version} of {message} is not known")]
    UnknownVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
}

/// A value that a version of its message cannot carry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A field that must not be dropped silently has a value, and the version lacks the field.
    #[error("field {field} cannot be sent in version {version}")]
    FieldNotInVersion {
        /// The field's name.
        field: &'static str,
        /// The version encoded.
        version: i16,
    },
    /// A null that this version forbids.
    #[error("field {field} cannot be null in version {version}")]
    UnexpectedNull {
        /// The field's name.
        field: &'static str,
        /// The version encoded.
        version: i16,
    },
    /// A length that does not fit its length field.
    #[error("length {0} does not fit its length field")]
    TooLong(usize),
    /// A version outside the message's range.
    #[error("version {version} of {message} is not known")]
    UnknownVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
}
