//! The field type of record batches: bytes that are passed on unread.

use bytes::Bytes;

use super::{Codec, DecodeError, EncodeError, Nullable, Reader, Writer};

/// Record batches inside a Produce request or a Fetch response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Records {
    /// Batches in memory; decoding always gives this.
    Bytes(Bytes),
    /// Batches that the sender of the frame takes from elsewhere; comes out as [`super::Chunk::External`].
    External {
        /// A number that the sender understands.
        id: u32,
        /// Bytes.
        length: u32,
    },
}

impl Default for Records {
    fn default() -> Self {
        Self::Bytes(Bytes::new())
    }
}

impl Records {
    /// Bytes of batches.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::External { length, .. } => *length as usize,
        }
    }
}

impl From<Bytes> for Records {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl Codec for Records {
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        Self::encode_nullable(Some(self), writer, version)
    }

    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        Bytes::decode(reader, version).map(Self::Bytes)
    }

    fn sample(random: &mut dyn FnMut() -> u64, version: i16) -> Self {
        Self::Bytes(Bytes::sample(random, version))
    }
}

impl Nullable for Records {
    fn encode_nullable(value: Option<&Self>, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_length(value.map(Self::length), false)?;
        if let Some(records) = value {
            writer.put_records(records);
        }
        Ok(())
    }

    fn decode_nullable(reader: &mut Reader<'_>, version: i16) -> Result<Option<Self>, DecodeError> {
        Ok(Bytes::decode_nullable(reader, version)?.map(Self::Bytes))
    }
}
