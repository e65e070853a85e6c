//! Cuts the bytes of a connection into frames.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// Bytes reserved for a read when nothing is known of what comes.
const READ_BYTES: usize = 16 * 1024;
/// Bytes reserved at once for a frame that has begun; more follow as it arrives, for its length is only a claim.
const RESERVED_BYTES_MAX: usize = 256 * 1024;

/// A frame that cannot be one.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// A length below zero or above `socket.request.max.bytes`.
    #[error("frame length {length} is outside 0..={max}{}", looks_like(*.prefix))]
    Length {
        /// The length claimed.
        length: i32,
        /// The largest allowed.
        max: usize,
        /// The bytes it was read from.
        prefix: [u8; 4],
    },
}

/// What other protocols' first bytes are.
fn looks_like(prefix: [u8; 4]) -> &'static str {
    match &prefix {
        [0x16, 0x03, ..] => ": this looks like TLS; the listener speaks plain text",
        b"GET " | b"POST" | b"PUT " | b"HEAD" | b"OPTI" | b"DELE" | b"CONN" => {
            ": this looks like HTTP; the listener speaks Kafka's protocol"
        }
        b"SSH-" => ": this looks like SSH",
        _ => "",
    }
}

/// Bytes received and not yet cut into frames.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    /// Where to read to, with room for the next piece.
    pub(crate) fn room(&mut self) -> &mut BytesMut {
        let wanted = match self.buffer.first_chunk::<4>() {
            Some(prefix) => (4 + u32::from_be_bytes(*prefix) as usize).saturating_sub(self.buffer.len()),
            None => READ_BYTES,
        };
        let step = wanted.clamp(READ_BYTES, RESERVED_BYTES_MAX.max(self.buffer.len()));
        if self.buffer.capacity() - self.buffer.len() < step.min(READ_BYTES) {
            self.buffer.reserve(step);
        }
        &mut self.buffer
    }

    /// The next whole frame, without its length; `None` until one has arrived.
    ///
    /// # Errors
    /// [`FrameError`] when the length is impossible.
    pub(crate) fn next_frame(&mut self, max: usize) -> Result<Option<Bytes>, FrameError> {
        let Some(prefix) = self.buffer.first_chunk::<4>().copied() else { return Ok(None) };
        let length = i32::from_be_bytes(prefix);
        let size = usize::try_from(length).ok().filter(|size| *size <= max);
        let Some(size) = size else { return Err(FrameError::Length { length, max, prefix }) };
        if self.buffer.len() < 4 + size {
            return Ok(None);
        }
        self.buffer.advance(4);
        Ok(Some(self.buffer.split_to(size).freeze()))
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn has_part(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Gives memory back when nothing is waiting in it: an idle connection costs no buffer.
    pub(crate) fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }
}
