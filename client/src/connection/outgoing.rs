//! Bytes on their way to the socket: the parts of encoded requests in order, gathered into vectored writes so that
//! record batches are never copied.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};

use bytes::{Buf, Bytes};
use pillion_wire::Chunk;

use super::Completion;
use super::transport::Transport;

/// Parts gathered into one write; Linux takes up to 1,024.
const PARTS_MAX: usize = 64;

/// What has not been written yet.
#[derive(Default)]
pub(super) struct Outgoing {
    parts: VecDeque<Bytes>,
    /// Bytes ever pushed.
    pushed: u64,
    /// Bytes ever written.
    written: u64,
    /// Requests without an answer, by the position of their last byte.
    unanswered: VecDeque<(u64, Completion)>,
}

impl Outgoing {
    /// Appends a request; `handed_over` completes one that has no answer.
    pub(super) fn push(&mut self, chunks: Vec<Chunk>, handed_over: Option<Completion>) {
        for chunk in chunks {
            // A client's records are always in memory: nothing here is external.
            if let Chunk::Bytes(bytes) = chunk {
                self.pushed += bytes.len() as u64;
                self.parts.push_back(bytes);
            }
        }
        if let Some(completion) = handed_over {
            self.unanswered.push_back((self.pushed, completion));
        }
    }

    /// Whether everything is written.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes until all is written or the socket is full.
    pub(super) fn write_to(&mut self, transport: &Transport) -> io::Result<()> {
        while !self.parts.is_empty() {
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let mut count = 0;
            for (slice, part) in slices.iter_mut().zip(&self.parts) {
                *slice = IoSlice::new(part);
                count += 1;
            }
            match transport.try_write(&slices[..count]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        transport.try_flush()
    }

    /// Drops `written` bytes from the front.
    fn advance(&mut self, mut written: usize) {
        self.written += written as u64;
        while let Some(part) = self.parts.front_mut() {
            if written < part.len() {
                part.advance(written);
                return;
            }
            written -= part.len();
            self.parts.pop_front();
        }
    }

    /// Completions of requests without an answer that are wholly written.
    pub(super) fn take_handed_over(&mut self) -> Vec<Completion> {
        let mut completions = Vec::new();
        while self.unanswered.front().is_some_and(|(end, _)| *end <= self.written) {
            completions.extend(self.unanswered.pop_front().map(|(_, completion)| completion));
        }
        completions
    }

    /// Gives up everything; answers the completions of requests without an answer.
    pub(super) fn take_all(&mut self) -> Vec<Completion> {
        self.parts.clear();
        self.unanswered.drain(..).map(|(_, completion)| completion).collect()
    }
}
