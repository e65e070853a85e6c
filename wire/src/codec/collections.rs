//! Encodings of arrays, and of values that may be null.

use super::{Codec, DecodeError, EncodeError, Nullable, Reader, Writer};

impl<T: Codec> Codec for Vec<T> {
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        Self::encode_nullable(Some(self), writer, version)
    }

    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        Self::decode_nullable(reader, version)?.ok_or(DecodeError::InvalidLength(-1))
    }

    fn sample(random: &mut dyn FnMut() -> u64, version: i16) -> Self {
        let length = random() % 4;
        (0..length).map(|_| T::sample(random, version)).collect()
    }
}

impl<T: Codec> Nullable for Vec<T> {
    fn encode_nullable(value: Option<&Self>, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writer.put_length(value.map(Vec::len), false)?;
        for element in value.into_iter().flatten() {
            element.encode(writer, version)?;
        }
        Ok(())
    }

    fn decode_nullable(reader: &mut Reader<'_>, version: i16) -> Result<Option<Self>, DecodeError> {
        let Some(count) = reader.length(false)? else { return Ok(None) };
        reader.admit(count, size_of::<T>())?;
        let mut elements = Self::with_capacity(count);
        for _ in 0..count {
            elements.push(T::decode(reader, version)?);
        }
        Ok(Some(elements))
    }
}

impl<T: Nullable> Codec for Option<T> {
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError> {
        T::encode_nullable(self.as_ref(), writer, version)
    }

    fn decode(reader: &mut Reader<'_>, version: i16) -> Result<Self, DecodeError> {
        T::decode_nullable(reader, version)
    }

    fn sample(random: &mut dyn FnMut() -> u64, version: i16) -> Self {
        (random() & 3 != 0).then(|| T::sample(random, version))
    }
}
