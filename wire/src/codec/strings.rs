//! Encodings of strings and byte blobs: int16 (strings) or int32 (blobs) length, or compact.

use bytes::Bytes;

use super::{Codec, DecodeError, EncodeError, Nullable, Reader, Writer};

impl Codec for String {
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        Self::encode_nullable(Some(self), writer, version)
    }

    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        Self::decode_nullable(reader, version)?.ok_or(DecodeError::InvalidLength(-1))
    }

    fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
        let length = random() % 9;
        (0..length).map(|_| ['a', 'Z', '0', '-', 'é', '漢'][(random() % 6) as usize]).collect()
    }
}

impl Nullable for String {
    fn encode_nullable(value: Option<&Self>, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_length(value.map(String::len), true)?;
        if let Some(value) = value {
            writer.put_slice(value.as_bytes());
        }
        Ok(())
    }

    fn decode_nullable(reader: &mut Reader<'_>, _version: i16) -> Result<Option<Self>, DecodeError> {
        let Some(length) = reader.length(true)? else { return Ok(None) };
        let text = std::str::from_utf8(reader.take(length)?).map_err(|_| DecodeError::InvalidUtf8)?;
        Ok(Some(text.to_owned()))
    }
}

impl Codec for Bytes {
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        Self::encode_nullable(Some(self), writer, version)
    }

    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        Self::decode_nullable(reader, version)?.ok_or(DecodeError::InvalidLength(-1))
    }

    fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
        let length = random() % 17;
        (0..length).map(|_| random() as u8).collect()
    }
}

impl Nullable for Bytes {
    fn encode_nullable(value: Option<&Self>, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_length(value.map(Bytes::len), false)?;
        if let Some(value) = value {
            writer.put_slice(value);
        }
        Ok(())
    }

    fn decode_nullable(reader: &mut Reader<'_>, _version: i16) -> Result<Option<Self>, DecodeError> {
        let Some(length) = reader.length(false)? else { return Ok(None) };
        Ok(Some(reader.take_bytes(length)?))
    }
}
