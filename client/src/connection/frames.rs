//! Cuts received bytes into frames. Pure.
//!
//! **Invariant:** a length from the wire never chooses an allocation's size: beyond [`RESERVE_BYTES_MAX`] the buffer
//! grows only as bytes really arrive.

use bytes::{Bytes, BytesMut};

/// Longest answer accepted: Kafka's own limit of a request, and more than any fetch this client asks for.
pub(super) const FRAME_BYTES_MAX: usize = 100 << 20;
/// Shortest answer: a correlation id.
const FRAME_BYTES_MIN: usize = 4;
/// Room made for reading when nothing is known of the next frame.
const READ_BYTES: usize = 16 << 10;
/// Room made at once for a frame whose length is known.
const RESERVE_BYTES_MAX: usize = 4 << 20;

/// Bytes received and not yet taken as frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    buffer: BytesMut,
}

impl Frames {
    /// The buffer to read into, with room behind what it holds.
    pub(super) fn room(&mut self) -> &mut BytesMut {
        let missing = match self.length() {
            Some(length) => (4 + usize::try_from(length).unwrap_or(0)).saturating_sub(self.buffer.len()),
            None => 0,
        };
        let room = missing.clamp(READ_BYTES, RESERVE_BYTES_MAX.max(self.buffer.len()));
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES.min(room) || missing > READ_BYTES {
            self.buffer.reserve(room);
        }
        &mut self.buffer
    }

    /// The next whole frame without its length; `Err` holds a length that no answer has.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, i32> {
        let Some(length) = self.length() else { return Ok(None) };
        let size = usize::try_from(length).map_err(|_| length)?;
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&size) {
            return Err(length);
        }
        if self.buffer.len() < 4 + size {
            return Ok(None);
        }
        let mut frame = self.buffer.split_to(4 + size);
        Ok(Some(frame.split_off(4).freeze()))
    }

    fn length(&self) -> Option<i32> {
        self.buffer.first_chunk::<4>().map(|length| i32::from_be_bytes(*length))
    }
}

#[cfg(test)]
mod tests;
