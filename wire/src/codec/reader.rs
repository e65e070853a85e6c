//! A cursor over one received frame.

use bytes::Bytes;

use super::DecodeError;

/// Memory the arrays of any frame may take decoded, in bytes, beside their part by length: one array of one element.
const BUDGET_FLOOR: usize = 4 << 10;
/// Memory each byte of a small frame may take decoded. The dearest elements, two bytes of nulls and empty names, take
/// some thirty times that in memory.
const BUDGET_PER_BYTE_SMALL: usize = 64;
/// From here on a byte may take less: real names and numbers take a few times what they are in the frame.
const BUDGET_SMALL: usize = 1 << 20;
const BUDGET_PER_BYTE: usize = 8;
/// Memory the arrays of one request may take, however large its frame: some hundred thousand partitions. What makes a
/// request large is record batches, which take none; and a handler's work and answer grow with what it is asked
/// (CVE-2026-111108 is what happens without such a bound).
const REQUEST_BUDGET_MAX: usize = 9 << 20;
/// Tagged fields of one struct. The schemas know three at most, and each is work before anyone has said who they are
/// (CVE-2026-111115: tens of millions of them).
const TAGGED_FIELDS_MAX: usize = 64;

/// Memory that decoding a frame of `length` bytes may take at once: its arrays by the budget, its strings by copies.
#[must_use]
pub const fn decoded_bytes_max(length: usize) -> usize {
    budget(length).saturating_add(length)
}

const fn budget(length: usize) -> usize {
    let small = BUDGET_FLOOR.saturating_add(length.saturating_mul(BUDGET_PER_BYTE_SMALL));
    let large = BUDGET_SMALL.saturating_add(length.saturating_mul(BUDGET_PER_BYTE));
    if small < large { small } else { large }
}

/// Reads values from a frame; byte blobs come out as slices that share the frame's memory.
#[derive(Debug)]
pub struct Reader<'a> {
    frame: &'a Bytes,
    position: usize,
    end: usize,
    flexible: bool,
    budget: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `frame`, not flexible.
    #[must_use]
    pub fn new(frame: &'a Bytes) -> Self {
        Self { frame, position: 0, end: frame.len(), flexible: false, budget: budget(frame.len()) }
    }

    /// As [`Reader::new`] for bytes from anyone who can reach a socket: arrays are held to what a real request needs.
    #[must_use]
    pub fn for_request(frame: &'a Bytes) -> Self {
        let reader = Self::new(frame);
        Self { budget: reader.budget.min(REQUEST_BUDGET_MAX), ..reader }
    }

    /// Whether lengths are compact and structs end with tagged fields.
    #[must_use]
    pub fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Sets whether lengths are compact.
    pub fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// Bytes read so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Takes `length` bytes as a borrowed slice.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when there are fewer.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        self.check(length)?;
        let start = self.position;
        self.position += length;
        Ok(&self.frame[start..start + length])
    }

    /// Takes `length` bytes as a slice that shares the frame's memory.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`] when there are fewer.
    pub fn take_bytes(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        self.check(length)?;
        let start = self.position;
        self.position += length;
        Ok(self.frame.slice(start..start + length))
    }

    fn check(&self, length: usize) -> Result<(), DecodeError> {
        let left = self.remaining();
        if length > left { Err(DecodeError::Truncated { needed: length, left }) } else { Ok(()) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    /// Reads an int8.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_i8(&mut self) -> Result<i8, DecodeError> {
        Ok(i8::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian int16.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian uint16.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian int32.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian uint32.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Reads a big-endian int64.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn get_i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// Reads an unsigned variable-length integer of at most five bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::VarintTooLong`].
    pub fn get_unsigned_varint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0_u32;
        for index in 0..5 {
            let [byte] = self.array()?;
            if index == 4 && byte > 0x0f {
                return Err(DecodeError::VarintTooLong);
            }
            value |= u32::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::VarintTooLong)
    }

    /// Reads a zigzag variable-length integer of at most five bytes.
    ///
    /// # Errors
    /// As [`Reader::get_unsigned_varint`].
    pub fn get_varint(&mut self) -> Result<i32, DecodeError> {
        let raw = self.get_unsigned_varint()?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    /// Reads a zigzag variable-length integer of at most ten bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::VarintTooLong`].
    pub fn get_varlong(&mut self) -> Result<i64, DecodeError> {
        let mut raw = 0_u64;
        for index in 0..10 {
            let [byte] = self.array()?;
            if index == 9 && byte > 0x01 {
                return Err(DecodeError::VarintTooLong);
            }
            raw |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
            }
        }
        Err(DecodeError::VarintTooLong)
    }

    /// Reads the length of an array, string or blob, `None` for null. `narrow` means int16 where not compact.
    pub(super) fn length(&mut self, narrow: bool) -> Result<Option<usize>, DecodeError> {
        let length = if self.flexible {
            i64::from(self.get_unsigned_varint()?) - 1
        } else if narrow {
            i64::from(self.get_i16()?)
        } else {
            i64::from(self.get_i32()?)
        };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(DecodeError::InvalidLength(length)),
        }
    }

    /// Admits an array of `count` elements of `size` bytes in memory: each takes at least one byte of the frame.
    pub(super) fn admit(&mut self, count: usize, size: usize) -> Result<(), DecodeError> {
        let left = self.remaining();
        if count > left {
            return Err(DecodeError::ArrayTooLong { count, left });
        }
        let taken = count.saturating_mul(size);
        self.budget = self.budget.checked_sub(taken).ok_or(DecodeError::TooLarge)?;
        Ok(())
    }

    /// Hands each tagged field to `known`, which answers whether it read the field; others are skipped.
    ///
    /// # Errors
    /// [`DecodeError`] when there are too many, or a field ends early, has bytes left over, or is there twice.
    pub fn tagged_fields(
        &mut self,
        mut known: impl FnMut(&mut Self, u32) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        let count = self.get_unsigned_varint()? as usize;
        if count > TAGGED_FIELDS_MAX {
            return Err(DecodeError::TooManyTaggedFields(count));
        }
        let mut seen: Option<u32> = None;
        for _ in 0..count {
            let tag = self.get_unsigned_varint()?;
            let length = self.get_unsigned_varint()? as usize;
            self.check(length)?;
            // Tags ascend (KIP-482), so a repeated one is one that does not.
            if seen.is_some_and(|last| tag <= last) {
                return Err(DecodeError::DuplicateTag(tag));
            }
            seen = Some(tag);
            let end = std::mem::replace(&mut self.end, self.position + length);
            let read = known(self, tag)?;
            if read && self.remaining() != 0 {
                return Err(DecodeError::TagNotConsumed(tag));
            }
            self.position = self.end;
            self.end = end;
        }
        Ok(())
    }
}
