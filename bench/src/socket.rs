//! Sending and receiving with as few system calls and copies as a load generator can do with.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bytes::{Buf, Bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

/// Parts handed to one system call at most.
const PARTS_MAX: usize = 64;
/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;
/// A frame's size at most; produce answers have about 60 bytes.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// Bytes that wait to be sent, in order.
#[derive(Debug, Default)]
pub(crate) struct Outgoing(VecDeque<Bytes>);

impl Outgoing {
    /// Puts parts behind the others.
    pub(crate) fn extend(&mut self, parts: impl Iterator<Item = Bytes>) {
        self.0.extend(parts);
    }

    /// Whether everything has been sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends what the socket takes without waiting.
    pub(crate) fn send(&mut self, stream: &TcpStream) -> Result<()> {
        while !self.0.is_empty() {
            let parts: Vec<IoSlice<'_>> = self.0.iter().take(PARTS_MAX).map(|part| IoSlice::new(part)).collect();
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match sendmsg(stream, &parts, &mut SendAncillaryBuffer::default(), flags) {
                Ok(sent) => self.advance(sent),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut sent: usize) {
        while let Some(part) = self.0.front_mut() {
            if part.len() > sent {
                part.advance(sent);
                return;
            }
            sent -= part.len();
            self.0.pop_front();
        }
    }
}

/// Received bytes, cut into frames.
#[derive(Debug)]
pub(crate) struct Incoming {
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Incoming {
    /// Nothing received yet.
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; READ_BYTES], begin: 0, end: 0 }
    }

    /// Receives more; `wait` says whether to wait for it.
    pub(crate) fn receive(&mut self, stream: &TcpStream, wait: bool) -> Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.end == self.buffer.len() {
            ensure!(self.buffer.len() < FRAME_BYTES_MAX, "an answer of more than {FRAME_BYTES_MAX} bytes");
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        self.end += receive(stream, &mut self.buffer[self.end..], flags)?.unwrap_or(0);
        Ok(())
    }

    /// The next whole frame, without its length.
    pub(crate) fn next_frame(&mut self) -> Option<&[u8]> {
        let received = &self.buffer[self.begin..self.end];
        let length = u32::from_be_bytes(*received.first_chunk()?) as usize;
        let frame = self.begin + 4..self.begin + 4 + length;
        if frame.end > self.end {
            return None;
        }
        self.begin = frame.end;
        Some(&self.buffer[frame])
    }
}

/// Receives into `buffer`; `None` when nothing is there and the flags say not to wait.
pub(crate) fn receive(stream: &TcpStream, buffer: &mut [u8], flags: RecvFlags) -> Result<Option<usize>> {
    loop {
        match recv(stream, &mut *buffer, flags) {
            Ok((_, 0)) => {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof)).context("the broker closed the connection");
            }
            Ok((_, length)) => return Ok(Some(length)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if flags.contains(RecvFlags::DONTWAIT) => return Ok(None),
            Err(Errno::AGAIN) => return Err(io::Error::from(io::ErrorKind::TimedOut)).context("no answer came"),
            Err(error) => return Err(error).context("cannot receive"),
        }
    }
}

/// Drops `length` bytes that arrive, inside the kernel: they are not copied to `scratch`, which only bounds one call.
pub(crate) fn discard(stream: &TcpStream, mut length: usize, scratch: &mut [u8]) -> Result<()> {
    while length > 0 {
        let bound = length.min(scratch.len());
        let dropped = receive(stream, &mut scratch[..bound], RecvFlags::TRUNC | RecvFlags::WAITALL)?;
        length -= dropped.unwrap_or(0).min(bound);
    }
    Ok(())
}

/// Waits until the socket can be read or, if `to_write`, written, or the time is up. Answers whether it can be read.
pub(crate) fn wait(stream: &TcpStream, to_write: bool, time: Option<Duration>) -> Result<bool> {
    let flags = if to_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let mut descriptors = [PollFd::new(stream, flags)];
    let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) });
    match poll(&mut descriptors, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error).context("cannot wait for a socket"),
    }
    Ok(descriptors[0].revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR))
}

/// Lets the calling thread's timers fire within a microsecond: the kernel's 50 are more than some things measured.
pub(crate) fn sharpen_timers() {
    // Where the kernel refuses, timers stay as they were; figures then say so by themselves.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
