//! Encodings of numbers, booleans and UUIDs.

use uuid::Uuid;

use super::{Codec, DecodeError, EncodeError, Reader, Writer};

macro_rules! number {
    ($type:ty, $put:ident, $get:ident) => {
        impl Codec for $type {
            fn encode(&self, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
                writer.$put(*self);
                Ok(())
            }

            fn decode(reader: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
                reader.$get()
            }

            fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
                random() as $type
            }
        }
    };
}

number!(i8, put_i8, get_i8);
number!(i16, put_i16, get_i16);
number!(u16, put_u16, get_u16);
number!(i32, put_i32, get_i32);
number!(u32, put_u32, get_u32);
number!(i64, put_i64, get_i64);

impl Codec for bool {
    fn encode(&self, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_i8(i8::from(*self));
        Ok(())
    }

    fn decode(reader: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        Ok(reader.get_i8()? != 0)
    }

    fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
        random() & 1 == 1
    }
}

impl Codec for f64 {
    fn encode(&self, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_slice(&self.to_be_bytes());
        Ok(())
    }

    fn decode(reader: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self::from_bits(reader.get_i64()?.cast_unsigned()))
    }

    fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
        // A finite number, so that a copy equals the original.
        f64::from(random() as i32)
    }
}

impl Codec for Uuid {
    fn encode(&self, writer: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        writer.put_slice(self.as_bytes());
        Ok(())
    }

    fn decode(reader: &mut Reader<'_>, _version: i16) -> Result<Self, DecodeError> {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(reader.take(16)?);
        Ok(Self::from_bytes(bytes))
    }

    fn sample(random: &mut dyn FnMut() -> u64, _version: i16) -> Self {
        Self::from_u64_pair(random(), random())
    }
}
