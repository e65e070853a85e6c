//! A connection's answers, sent in the order of their requests.
//!
//! A request reserves a slot; whoever completes the slot in front, a worker or a sync thread, sends it and those
//! ready behind it, without a hand-over to the connection's own task. Only when the socket takes no more does that
//! task take over, or when a log's bytes have left memory since they were looked for: a blocking thread brings them
//! back then, for whoever sends is often on the event loop.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parking_lot::Mutex;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};

use crate::disk::residency;
use crate::log::LogSlice;
use crate::metrics::Metrics;

/// Requests a connection may have unanswered; it is not read from beyond.
const IN_FLIGHT_MAX: usize = 128;
/// Bytes of answers in memory that a connection may leave untaken; it is not read from beyond. What is sent from a
/// log's file takes none.
const UNSENT_BYTES_MAX: usize = 256 * 1024;
/// Parts sent by one system call.
const GATHERED_MAX: usize = 32;
/// Bytes of a file sent by one system call, after a look whether they are in memory.
const FILE_BYTES_MAX: usize = 512 << 10;
/// Bytes of a file brought back into memory at a time.
const BROUGHT_BYTES_MAX: usize = 1 << 20;
/// Threads that may wait for the disk so that sockets go on.
static BRINGING: Semaphore = Semaphore::const_new(4);

/// A part of an answer.
pub(crate) enum Part {
    /// Bytes in memory.
    Bytes(Bytes),
    /// Bytes of a log, sent by sendfile.
    File(LogSlice),
}

enum Slot {
    /// Its request is being worked on.
    Waiting,
    /// What is still to be sent of its answer.
    Ready(VecDeque<Part>),
}

#[derive(Default)]
struct State {
    slots: VecDeque<Slot>,
    /// Number of the slot in front.
    first: u64,
    /// Bytes in memory of the answers that are ready.
    unsent_bytes: usize,
    /// The socket took no more, or memory has no more: the connection's task goes on.
    blocked: bool,
    /// What is to be brought into memory first, where it is that.
    missing: Option<LogSlice>,
    /// It has been brought: what is sent next is not looked for once more.
    is_brought: bool,
    closed: bool,
    /// The connection's task waits for the last answer to be sent.
    draining: bool,
}

/// The answers of one connection.
pub(crate) struct ResponseQueue {
    stream: TcpStream,
    state: Mutex<State>,
    /// Tells the connection's task that the queue is blocked, has room again, or is closed.
    changed: Notify,
    metrics: Arc<Metrics>,
}

impl ResponseQueue {
    pub(crate) fn new(stream: TcpStream, metrics: Arc<Metrics>) -> Self {
        Self { stream, state: Mutex::new(State::default()), changed: Notify::new(), metrics }
    }

    /// Where answers are counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The socket, for reading.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// A place for the next answer.
    pub(crate) fn reserve(&self) -> u64 {
        let mut state = self.state.lock();
        state.slots.push_back(Slot::Waiting);
        state.first + state.slots.len() as u64 - 1
    }

    /// Fills a place, with nothing for a request that gets no answer, and sends what is due.
    pub(crate) fn complete(&self, slot: u64, parts: VecDeque<Part>) {
        let mut state = self.state.lock();
        let index = slot.checked_sub(state.first).map(|index| index as usize);
        let State { slots, unsent_bytes, .. } = &mut *state;
        if let Some(place) = index.and_then(|index| slots.get_mut(index)) {
            *unsent_bytes += parts.iter().map(Part::bytes_in_memory).sum::<usize>();
            *place = Slot::Ready(parts);
        }
        if index == Some(0) && !state.blocked {
            self.send_ready(&mut state);
        }
    }

    /// Goes no further: answers are dropped, and the connection ends. The other end hears of it at once, though those
    /// who still owe an answer keep the socket.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        // It fails only where the other end was quicker.
        let _ = rustix::net::shutdown(&self.stream, rustix::net::Shutdown::Both);
        self.changed.notify_one();
    }

    /// Whether the connection is to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Whether there is room for another request.
    pub(crate) fn has_room(&self) -> bool {
        self.state.lock().has_room()
    }

    /// Whether every request has been answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().slots.is_empty()
    }

    /// Whether the other end takes nothing more for now.
    pub(crate) fn is_blocked(&self) -> bool {
        self.state.lock().blocked
    }

    /// Sends what is ready or in the making, until there is nothing left or the socket fails.
    pub(crate) async fn drain(&self) -> io::Result<()> {
        self.state.lock().draining = true;
        while !self.is_empty() && !self.is_closed() {
            self.tend().await?;
        }
        Ok(())
    }

    /// Waits for the next change that concerns the connection's task, having sent what a blocked socket takes.
    /// Cancelling loses nothing.
    pub(crate) async fn tend(&self) -> io::Result<()> {
        let (is_blocked, missing) = {
            let mut state = self.state.lock();
            (state.blocked, state.missing.take())
        };
        if is_blocked {
            let is_brought = missing.is_some();
            match missing {
                Some(slice) => bring(slice).await,
                None => self.stream.writable().await?,
            }
            let mut state = self.state.lock();
            (state.blocked, state.is_brought) = (false, is_brought);
            self.send_ready(&mut state);
            return Ok(());
        }
        self.changed.notified().await;
        Ok(())
    }

    /// Sends the answers in front, as far as they are ready and the socket takes them.
    fn send_ready(&self, state: &mut State) {
        let was_full = !state.has_room();
        while !state.closed {
            while matches!(state.slots.front(), Some(Slot::Ready(parts)) if parts.is_empty()) {
                state.slots.pop_front();
                state.first += 1;
            }
            let sent = match front_part(&state.slots) {
                None => break,
                Some(Part::File(slice)) if !std::mem::take(&mut state.is_brought) && !is_in_memory(slice) => {
                    state.missing = Some(slice.clone());
                    state.blocked = true;
                    break;
                }
                Some(Part::File(slice)) => self.send_file(slice),
                Some(Part::Bytes(_)) => self.send_bytes(&state.slots),
            };
            match sent {
                Ok(sent) => {
                    self.metrics.sent_bytes.add(sent as u64);
                    state.advance(sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    state.blocked = true;
                    break;
                }
                Err(_) => state.closed = true,
            }
        }
        // Otherwise nobody is woken: the connection's task has nothing to do.
        if state.blocked || state.closed || was_full || (state.draining && state.slots.is_empty()) {
            self.changed.notify_one();
        }
    }

    fn send_bytes(&self, slots: &VecDeque<Slot>) -> io::Result<usize> {
        let ready = slots.iter().map_while(|slot| match slot {
            Slot::Ready(parts) => Some(parts),
            Slot::Waiting => None,
        });
        let bytes = ready.flatten().map_while(|part| match part {
            Part::Bytes(bytes) => Some(IoSlice::new(bytes)),
            Part::File(_) => None,
        });
        let gathered: Vec<_> = bytes.take(GATHERED_MAX).collect();
        self.stream.try_write_vectored(&gathered)
    }

    fn send_file(&self, slice: &LogSlice) -> io::Result<usize> {
        let Some(file) = slice.file.descriptor() else {
            return Err(io::Error::other("this file cannot be sent from"));
        };
        let length = slice.length.min(FILE_BYTES_MAX);
        self.stream.try_io(Interest::WRITABLE, || {
            let mut position = slice.position;
            let sent = rustix::fs::sendfile(&self.stream, file, Some(&mut position), length)?;
            if sent == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(sent) }
        })
    }
}

/// Whether what is sent next of a slice is in memory; a file that cannot be read is left to the one who sends it.
fn is_in_memory(slice: &LogSlice) -> bool {
    let length = slice.length.min(FILE_BYTES_MAX);
    residency::length_in_memory(&*slice.file, slice.position, length).map_or(true, |found| found == length)
}

/// Has a blocking thread bring what comes next of a slice into memory.
async fn bring(slice: LogSlice) {
    // It is never closed.
    let _permit = BRINGING.acquire().await;
    let length = slice.length.min(BROUGHT_BYTES_MAX);
    let ahead = (slice.length - length).min(BROUGHT_BYTES_MAX) as u64;
    let brought = tokio::task::spawn_blocking(move || residency::bring(&*slice.file, slice.position, length, ahead));
    // Where it failed sendfile will say so.
    let _ = brought.await;
}

fn front_part(slots: &VecDeque<Slot>) -> Option<&Part> {
    match slots.front()? {
        Slot::Ready(parts) => parts.front(),
        Slot::Waiting => None,
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.slots.len() < IN_FLIGHT_MAX && self.unsent_bytes < UNSENT_BYTES_MAX
    }

    /// Takes `sent` bytes off the parts in front, over as many answers as they span.
    fn advance(&mut self, mut sent: usize) {
        for slot in &mut self.slots {
            let Slot::Ready(parts) = slot else { return };
            while let Some(part) = parts.front_mut() {
                let now = sent.min(part.length());
                if matches!(part, Part::Bytes(_)) {
                    self.unsent_bytes -= now;
                }
                if now < part.length() {
                    part.advance(now);
                    return;
                }
                sent -= now;
                parts.pop_front();
            }
        }
    }
}

impl Part {
    fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(slice) => slice.length,
        }
    }

    fn bytes_in_memory(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::File(_) => 0,
        }
    }

    fn advance(&mut self, sent: usize) {
        match self {
            Self::Bytes(bytes) => bytes.advance(sent),
            Self::File(slice) => {
                slice.position += sent as u64;
                slice.length -= sent;
            }
        }
    }
}
