//! A whole message: its version range, where it turns flexible, and its API.

use std::ops::RangeInclusive;

use bytes::Bytes;

use super::{Codec, DecodeError, EncodeError, Reader, Writer};

/// A message with a version range of its own: a request or response body, or a record's key or value.
pub trait Message: Codec + Default {
    /// Kafka's name for it, as `ProduceRequest`.
    const NAME: &'static str;
    /// The versions there are.
    const VERSIONS: RangeInclusive<i16>;
    /// The first version with compact lengths and tagged fields (KIP-482); `i16::MAX` when there is none.
    const FLEXIBLE_FROM: i16;
    /// The key of its API, which requests and responses have: 0 for Produce.
    const API_KEY: Option<i16> = None;

    /// Whether `version` has compact lengths and tagged fields.
    #[must_use]
    fn is_flexible(version: i16) -> bool {
        version >= Self::FLEXIBLE_FROM
    }

    /// Reads a body from `reader`; bytes behind it are left.
    ///
    /// # Errors
    /// [`DecodeError`] when the version is unknown or the bytes are not such a message.
    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(&version) {
            return Err(DecodeError::UnknownVersion { message: Self::NAME, version });
        }
        reader.set_flexible(Self::is_flexible(version));
        Self::decode(reader, version)
    }

    /// Appends a body to `writer`.
    ///
    /// # Errors
    /// [`EncodeError`] when the version is unknown or cannot carry this value.
    fn write(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(&version) {
            return Err(EncodeError::UnknownVersion { message: Self::NAME, version });
        }
        writer.set_flexible(Self::is_flexible(version));
        self.encode(writer, version)
    }
}

/// A message that belongs to an API: a request or a response.
pub trait ApiMessage: Message {
    /// The API key: 0 for Produce.
    const KEY: i16;
    /// The API's name without Request or Response: `Produce`.
    const API: &'static str;
}

/// A request, which knows its answer.
pub trait Request: ApiMessage {
    /// What the broker answers with.
    type Response: ApiMessage;
}

/// Encodes a record's key or value: the version as int16, then the body.
///
/// # Errors
/// As [`Message::write`].
pub fn encode_versioned<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    writer.put_i16(version);
    message.write(&mut writer, version)?;
    Ok(writer.into_bytes())
}

/// Decodes a record's key or value written by [`encode_versioned`]; answers the version with it.
///
/// # Errors
/// As [`Message::read`].
pub fn decode_versioned<M: Message>(bytes: &Bytes) -> Result<(i16, M), DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.get_i16()?;
    Ok((version, M::read(&mut reader, version)?))
}
