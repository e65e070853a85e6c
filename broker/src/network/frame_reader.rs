//! Cuts the bytes of a connection into frames.
//!
//! Small frames are copied out of a small buffer, which goes when it is empty: an idle connection has none. A large
//! one gets memory of its own, to which its bytes are read directly, as far as the caller was granted some for it.

#[cfg(test)]
mod tests;

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::request_memory::{Grant, MemoryShare, SMALL_FRAME_BYTES};

/// Bytes of a frame's length.
const LENGTH_BYTES: usize = 4;
/// Size of the buffer for small frames and the beginnings of large ones.
const BUFFER_BYTES: usize = 16 * 1024;
/// Bytes reserved at once for a large frame; more follow as it arrives, for its length is only a claim. Most batches
/// are smaller, and never moved.
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
        b"GET " | b"POST" | b"PUT " | b"HEAD" | b"OPTI" | b"DELE" | b"CONN" | b"PATC" | b"TRAC" | b"PRI " => {
            ": this looks like HTTP; the listener speaks Kafka's protocol"
        }
        b"SSH-" => ": this looks like SSH",
        _ => "",
    }
}

/// A whole request.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Its bytes, without the length.
    pub(crate) bytes: Bytes,
    /// What a large one was given.
    pub(crate) memory: Option<MemoryShare>,
}

/// What the bytes that are here amount to.
#[derive(Debug)]
pub(crate) enum Next {
    /// A whole frame.
    Frame(Frame),
    /// A large frame, which goes on once it is given memory: see [`FrameReader::give`].
    Large {
        /// Bytes it has been given.
        held: usize,
        /// Bytes it has, or will have.
        size: usize,
    },
    /// Part of a frame, or nothing.
    Part,
}

/// Bytes received and not yet cut into frames.
#[derive(Debug, Default)]
pub(crate) struct FrameReader {
    buffer: BytesMut,
    large: Option<LargeFrame>,
}

/// A large frame that is arriving.
#[derive(Debug)]
struct LargeFrame {
    bytes: Vec<u8>,
    size: usize,
    memory: MemoryShare,
}

impl FrameReader {
    /// Reads what the socket has, once. A read that leaves room has emptied the socket: tokio is told of it then and
    /// there, so that the next thing is to wait and not another read that finds nothing.
    ///
    /// # Errors
    /// What the operating system says; [`io::ErrorKind::WouldBlock`] when nothing was there.
    pub(crate) fn read_from(&mut self, stream: &TcpStream) -> io::Result<usize> {
        let mut received = None;
        let result = stream.try_io(Interest::READABLE, || {
            let (buffer, room) = self.next_room();
            let length = stream.try_read_buf(&mut buffer.limit(room))?;
            received = Some(length);
            if length > 0 && length < room { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(length) }
        });
        received.map_or(result, Ok)
    }

    /// As [`FrameReader::read_from`] without a socket: takes as many of `bytes` as there is room for, and says how many.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> usize {
        let (buffer, room) = self.next_room();
        let length = room.min(bytes.len());
        buffer.put_slice(&bytes[..length]);
        length
    }

    /// Where the next bytes go, and how many at most.
    fn next_room(&mut self) -> (&mut dyn BufMut, usize) {
        match &mut self.large {
            Some(large) => {
                let room = large.room();
                (&mut large.bytes, room)
            }
            None => {
                if self.buffer.capacity() - self.buffer.len() < BUFFER_BYTES / 2 {
                    self.buffer.reserve(BUFFER_BYTES);
                }
                let room = self.buffer.capacity() - self.buffer.len();
                (&mut self.buffer, room)
            }
        }
    }

    /// The next whole frame, as far as the bytes that are here go.
    ///
    /// # Errors
    /// [`FrameError`] when the length is impossible.
    pub(crate) fn next_frame(&mut self, max: usize) -> Result<Next, FrameError> {
        if let Some(large) = self.large.take_if(|large| large.bytes.len() == large.size) {
            return Ok(Next::Frame(Frame { bytes: large.bytes.into(), memory: Some(large.memory) }));
        }
        if let Some(large) = &self.large {
            let (held, size) = (large.memory.bytes(), large.size);
            return Ok(if large.bytes.len() == held { Next::Large { held, size } } else { Next::Part });
        }
        let Some(prefix) = self.buffer.first_chunk::<LENGTH_BYTES>().copied() else { return Ok(Next::Part) };
        let length = i32::from_be_bytes(prefix);
        let size = usize::try_from(length).ok().filter(|size| *size <= max);
        let Some(size) = size else { return Err(FrameError::Length { length, max, prefix }) };
        if size > SMALL_FRAME_BYTES {
            return Ok(Next::Large { held: 0, size });
        }
        let Some(bytes) = self.buffer.get(LENGTH_BYTES..LENGTH_BYTES + size) else { return Ok(Next::Part) };
        let bytes = Bytes::copy_from_slice(bytes);
        self.buffer.advance(LENGTH_BYTES + size);
        Ok(Next::Frame(Frame { bytes, memory: None }))
    }

    /// Goes on with the large frame that [`FrameReader::next_frame`] told of.
    pub(crate) fn give(&mut self, grant: Grant) {
        if self.large.is_none() && self.buffer.len() >= LENGTH_BYTES {
            let size = self.buffer.get_u32() as usize;
            let bytes = Vec::with_capacity(size.min(RESERVED_BYTES_MAX));
            self.large = Some(LargeFrame { bytes, size, memory: MemoryShare::default() });
        }
        if let Some(large) = &mut self.large {
            large.memory.add(grant);
            // Not more than the first grant: there is no less in it than in the buffer.
            let here = large.size.min(self.buffer.len());
            large.bytes.extend_from_slice(&self.buffer[..here]);
            self.buffer.advance(here);
        }
    }

    /// Whether a large frame has begun and has not been taken yet.
    pub(crate) fn has_large(&self) -> bool {
        self.large.is_some()
    }

    /// Whether a frame has begun and not ended.
    pub(crate) fn has_part(&self) -> bool {
        self.has_large() || !self.buffer.is_empty()
    }

    /// Gives memory back when nothing is waiting in it.
    pub(crate) fn release(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > 0 {
            self.buffer = BytesMut::new();
        }
    }
}

impl LargeFrame {
    /// Room for the next read, up to what was granted: never beyond the frame's end.
    fn room(&mut self) -> usize {
        let room = self.memory.bytes() - self.bytes.len();
        self.bytes.reserve_exact(room.min(RESERVED_BYTES_MAX.max(self.bytes.len())));
        room.min(self.bytes.capacity() - self.bytes.len())
    }
}
