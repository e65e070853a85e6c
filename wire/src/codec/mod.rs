//! Values to bytes and back: the reader, the writer, and the traits that `#[derive(Message)]` implements.
//!
//! Source of the encodings: Kafka's protocol guide, KIP-482 (compact types, tagged fields), KIP-893 (nullable
//! structs).

mod collections;
mod error;
mod message;
mod primitives;
mod reader;
mod records;
mod strings;
mod writer;

pub use error::{DecodeError, EncodeError};
pub use message::{ApiMessage, Message, Request, decode_versioned, encode_versioned};
pub use reader::{Reader, decoded_bytes_max};
pub use records::Records;
pub use writer::{Chunk, Writer};

/// A value that has an encoding in some versions of a message.
///
/// `version` is the version of the enclosing message; whether strings, arrays and byte blobs are compact is a
/// property of the [`Reader`] or [`Writer`].
pub trait Codec: Sized {
    /// Appends this value.
    ///
    /// # Errors
    /// [`EncodeError`] when the version has no room for the value: a field it lacks, a null it forbids, a length
    /// its length field cannot hold.
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError>;

    /// Reads one value.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes end early or do not follow the encoding.
    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError>;

    /// A value that this version can carry without loss, drawn from `random`: for tests of codecs.
    fn sample(random: &mut dyn FnMut() -> u64, version: i16) -> Self;
}

/// A value that some versions allow to be null.
pub trait Nullable: Codec {
    /// Appends the value or the null of its kind.
    ///
    /// # Errors
    /// As [`Codec::encode`].
    fn encode_nullable(value: Option<&Self>, writer: &mut Writer, version: i16) -> Result<(), EncodeError>;

    /// Reads a value or a null.
    ///
    /// # Errors
    /// As [`Codec::decode`].
    fn decode_nullable(reader: &mut Reader<'_>, version: i16) -> Result<Option<Self>, DecodeError>;
}
