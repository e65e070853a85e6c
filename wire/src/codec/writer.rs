//! Where a message is encoded to: small values gather in a buffer, record batches are chained, never copied.

use bytes::{BufMut, Bytes, BytesMut};

use super::{EncodeError, Records};

/// Record batches up to this size are copied into the buffer: a chained part costs an iovec and a reference count.
const COPY_BYTES_MAX: usize = 1024;

/// One part of an encoded frame, in sending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// Bytes in memory.
    Bytes(Bytes),
    /// `length` bytes that whoever sends the frame takes from elsewhere (a log segment, by sendfile).
    External {
        /// The number given to [`Records::External`].
        id: u32,
        /// Bytes.
        length: u32,
    },
}

impl Chunk {
    /// Bytes this part adds to the frame.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::External { length, .. } => *length as usize,
        }
    }
}

/// Collects an encoded message.
#[derive(Debug, Default)]
pub struct Writer {
    chunks: Vec<Chunk>,
    buffer: BytesMut,
    flexible: bool,
}

impl Writer {
    /// An empty writer, not flexible.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many bytes at once, where their number is known: growing would take twice that for a moment.
    pub fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve(bytes);
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

    /// Appends bytes as they are.
    pub fn put_slice(&mut self, bytes: &[u8]) {
        self.buffer.put_slice(bytes);
    }

    /// Appends an int8.
    pub fn put_i8(&mut self, value: i8) {
        self.buffer.put_i8(value);
    }

    /// Appends a big-endian int16.
    pub fn put_i16(&mut self, value: i16) {
        self.buffer.put_i16(value);
    }

    /// Appends a big-endian uint16.
    pub fn put_u16(&mut self, value: u16) {
        self.buffer.put_u16(value);
    }

    /// Appends a big-endian int32.
    pub fn put_i32(&mut self, value: i32) {
        self.buffer.put_i32(value);
    }

    /// Appends a big-endian uint32.
    pub fn put_u32(&mut self, value: u32) {
        self.buffer.put_u32(value);
    }

    /// Appends a big-endian int64.
    pub fn put_i64(&mut self, value: i64) {
        self.buffer.put_i64(value);
    }

    /// Appends an unsigned variable-length integer.
    pub fn put_unsigned_varint(&mut self, value: u32) {
        self.put_unsigned_varlong(u64::from(value));
    }

    /// Appends a zigzag variable-length integer.
    pub fn put_varint(&mut self, value: i32) {
        self.put_varlong(i64::from(value));
    }

    /// Appends a zigzag variable-length long.
    pub fn put_varlong(&mut self, value: i64) {
        self.put_unsigned_varlong(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    fn put_unsigned_varlong(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.buffer.put_u8((value as u8) | 0x80);
            value >>= 7;
        }
        self.buffer.put_u8(value as u8);
    }

    /// Appends the content of a records field; its length has been written.
    pub fn put_records(&mut self, records: &Records) {
        match records {
            Records::Bytes(bytes) if bytes.len() <= COPY_BYTES_MAX => self.buffer.put_slice(bytes),
            Records::Bytes(bytes) => self.chain(Chunk::Bytes(bytes.clone())),
            Records::External { id, length } => self.chain(Chunk::External { id: *id, length: *length }),
        }
    }

    fn chain(&mut self, chunk: Chunk) {
        if !self.buffer.is_empty() {
            self.chunks.push(Chunk::Bytes(self.buffer.split().freeze()));
        }
        self.chunks.push(chunk);
    }

    /// Writes the length of an array, string or blob, `None` for null. `narrow` means int16 where not compact.
    pub(super) fn put_length(&mut self, length: Option<usize>, narrow: bool) -> Result<(), EncodeError> {
        let too_long = |_| EncodeError::TooLong(length.unwrap_or(0));
        if self.flexible {
            let length = length.map_or(Ok(0), |length| u32::try_from(length + 1)).map_err(too_long)?;
            self.put_unsigned_varint(length);
        } else if narrow {
            self.put_i16(length.map_or(Ok(-1), i16::try_from).map_err(too_long)?);
        } else {
            self.put_i32(length.map_or(Ok(-1), i32::try_from).map_err(too_long)?);
        }
        Ok(())
    }

    /// Appends tagged fields, which come in ascending order of their tags.
    ///
    /// # Errors
    /// What `fill` answers for one of them.
    pub fn put_tagged_fields(
        &mut self,
        tags: &[u32],
        mut fill: impl FnMut(&mut Self, u32) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.put_unsigned_varint(tags.len() as u32);
        for tag in tags {
            self.put_unsigned_varint(*tag);
            let mut content = Self { flexible: self.flexible, ..Self::default() };
            fill(&mut content, *tag)?;
            let content = content.into_bytes();
            self.put_unsigned_varint(u32::try_from(content.len()).map_err(|_| EncodeError::TooLong(content.len()))?);
            self.put_slice(&content);
        }
        Ok(())
    }

    /// The encoded parts in order.
    #[must_use]
    pub fn into_chunks(mut self) -> Vec<Chunk> {
        if !self.buffer.is_empty() {
            self.chunks.push(Chunk::Bytes(self.buffer.freeze()));
        }
        self.chunks
    }

    /// Everything as one piece; parts held elsewhere are left out, so it is for messages without them.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.chunks.is_empty() {
            return self.buffer.freeze();
        }
        let mut whole = BytesMut::new();
        for chunk in self.into_chunks() {
            if let Chunk::Bytes(bytes) = chunk {
                whole.put_slice(&bytes);
            }
        }
        whole.freeze()
    }
}
