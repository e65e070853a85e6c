//! Frames: a four-byte length, a header, a body.
//!
//! ```text
//! request:  int32 length | int16 api key | int16 version | int32 correlation id | nullable string client id
//!           | tagged fields (flexible versions) | body
//! response: int32 length | int32 correlation id | tagged fields (flexible versions, never ApiVersions) | body
//! ```
//!
//! The client id has an int16 length in every header version (KIP-482).

use bytes::{Bytes, BytesMut};

use crate::{ApiMessage, Chunk, DecodeError, EncodeError, Message, Reader, Writer};

/// API key of ApiVersions, whose response header is never flexible: a client reads it before it knows the version.
pub const API_VERSIONS_KEY: i16 = 18;

/// What precedes a request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// Which API.
    pub api_key: i16,
    /// Which version of it.
    pub api_version: i16,
    /// Comes back in the response.
    pub correlation_id: i32,
    /// Who asks, as the client calls itself.
    pub client_id: Option<String>,
}

impl RequestHeader {
    /// Reads the part that all header versions share: everything up to the tagged fields.
    ///
    /// # Errors
    /// [`DecodeError`] when the frame is shorter or the client id is not UTF-8.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.set_flexible(false);
        let api_key = reader.get_i16()?;
        let api_version = reader.get_i16()?;
        let correlation_id = reader.get_i32()?;
        let client_id = <Option<String> as crate::Codec>::decode(reader, 0)?;
        Ok(Self { api_key, api_version, correlation_id, client_id })
    }

    /// Skips the tagged fields of a flexible request's header.
    ///
    /// # Errors
    /// [`DecodeError`] when they end early.
    pub fn skip_tagged_fields(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        reader.tagged_fields(|_, _| Ok(false))
    }
}

/// Encodes a request with its header, ready to send.
///
/// # Errors
/// [`EncodeError`] when this version cannot carry the message.
pub fn encode_request<M: ApiMessage>(
    message: &M,
    version: i16,
    correlation_id: i32,
    client_id: Option<&str>,
) -> Result<Vec<Chunk>, EncodeError> {
    let mut writer = Writer::new();
    writer.put_i16(M::KEY);
    writer.put_i16(version);
    writer.put_i32(correlation_id);
    writer.set_flexible(false);
    <Option<String> as crate::Codec>::encode(&client_id.map(str::to_owned), &mut writer, 0)?;
    if M::is_flexible(version) {
        writer.put_unsigned_varint(0);
    }
    message.write(&mut writer, version)?;
    with_length(writer)
}

/// Encodes a response with its header, ready to send.
///
/// # Errors
/// [`EncodeError`] when this version cannot carry the message.
pub fn encode_response<M: ApiMessage>(
    message: &M,
    version: i16,
    correlation_id: i32,
) -> Result<Vec<Chunk>, EncodeError> {
    let mut writer = Writer::new();
    writer.put_i32(correlation_id);
    if M::is_flexible(version) && M::KEY != API_VERSIONS_KEY {
        writer.put_unsigned_varint(0);
    }
    message.write(&mut writer, version)?;
    with_length(writer)
}

/// Decodes a response's body; `frame` is without its length and begins with the correlation id.
///
/// # Errors
/// [`DecodeError`] when the bytes are not such a response.
pub fn decode_response<M: ApiMessage>(frame: &Bytes, version: i16) -> Result<(i32, M), DecodeError> {
    let mut reader = Reader::new(frame);
    let correlation_id = reader.get_i32()?;
    if M::is_flexible(version) && M::KEY != API_VERSIONS_KEY {
        RequestHeader::skip_tagged_fields(&mut reader)?;
    }
    Ok((correlation_id, M::read(&mut reader, version)?))
}

/// Puts the frame's length before its first part.
fn with_length(writer: Writer) -> Result<Vec<Chunk>, EncodeError> {
    let mut chunks = writer.into_chunks();
    let length: usize = chunks.iter().map(Chunk::length).sum();
    let mut first = BytesMut::with_capacity(4 + chunks.first().map_or(0, Chunk::length));
    first.extend_from_slice(&i32::try_from(length).map_err(|_| EncodeError::TooLong(length))?.to_be_bytes());
    if let Some(Chunk::Bytes(bytes)) = chunks.first() {
        first.extend_from_slice(bytes);
        chunks.remove(0);
    }
    chunks.insert(0, Chunk::Bytes(first.freeze()));
    Ok(chunks)
}

/// Encodes only a body, for tests and records.
///
/// # Errors
/// As [`Message::write`].
pub fn encode_body<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = Writer::new();
    message.write(&mut writer, version)?;
    Ok(writer.into_bytes())
}
