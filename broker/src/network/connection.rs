//! One connection: reads frames, hands each request to its handler, minds deadlines.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::frame_reader::{Frame, FrameReader, Next};
use super::listener::Listener;
use super::request_memory::{Grant, MemoryWait};
use super::response_queue::ResponseQueue;
use super::session::{ConnectionId, Principal, Session};
use crate::broker::BrokerState;
use crate::dispatch::{self, Flow, Parked};

/// How long answers in flight may take to be sent once the broker stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection and what is in flight on it.
pub(crate) struct Connection {
    broker: Arc<BrokerState>,
    session: Session,
    queue: Arc<ResponseQueue>,
    frames: FrameReader,
    /// The large frame's place among those who wait for memory; nothing is read meanwhile.
    waiting: Option<MemoryWait>,
    /// Requests that wait for something until a deadline.
    parked: Vec<Arc<dyn Parked>>,
    /// When bytes last came, or went.
    last_active: Instant,
    /// When the frame that is arriving began, or could first be read.
    frame_began: Instant,
}

/// What woke the connection.
enum Event {
    Readable,
    Memory(Grant),
    Tended,
    Deadline,
    Stop,
}

impl Connection {
    pub(crate) fn new(broker: Arc<BrokerState>, listener: Arc<Listener>, stream: TcpStream, peer: SocketAddr) -> Self {
        Self {
            queue: Arc::new(ResponseQueue::new(stream, Arc::clone(&broker.metrics))),
            broker,
            session: Session { id: ConnectionId::next(), listener, peer, principal: Principal::Anonymous },
            frames: FrameReader::default(),
            waiting: None,
            parked: Vec::new(),
            last_active: Instant::now(),
            frame_began: Instant::now(),
        }
    }

    /// Serves the connection until either end closes it or `stop` is cancelled.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        if let Err(error) = self.serve(&stop).await {
            tracing::debug!(peer = %self.session.peer, %error, "connection ended");
        }
        if stop.is_cancelled() {
            self.drain().await;
        }
    }

    async fn serve(&mut self, stop: &CancellationToken) -> io::Result<()> {
        let queue = Arc::clone(&self.queue);
        let deadline = sleep_until(self.next_deadline());
        let stopped = stop.cancelled();
        tokio::pin!(deadline, stopped);
        while !queue.is_closed() {
            if !self.handle_frames().await {
                return Ok(());
            }
            let next = self.next_deadline();
            // An early wake-up is cheaper than moving the timer at every request.
            if next < deadline.deadline() || deadline.is_elapsed() {
                deadline.as_mut().reset(next);
            }
            let may_read = self.may_read();
            let event = tokio::select! {
                biased;
                () = &mut stopped => Event::Stop,
                readable = queue.stream().readable(), if may_read => readable.map(|()| Event::Readable)?,
                grant = memory(&mut self.waiting) => Event::Memory(grant),
                tended = queue.tend() => tended.map(|()| Event::Tended)?,
                () = &mut deadline => Event::Deadline,
            };
            match event {
                Event::Stop => return Ok(()),
                Event::Tended => {
                    self.last_active = Instant::now();
                    if !may_read {
                        self.frame_began = self.last_active;
                    }
                }
                Event::Memory(grant) => self.go_on(grant),
                Event::Readable => {
                    if !self.read()? {
                        return Ok(());
                    }
                }
                Event::Deadline => {
                    if !self.expire() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what has arrived; false at the end of the stream.
    fn read(&mut self) -> io::Result<bool> {
        let is_between_frames = !self.frames.has_part();
        match self.frames.read_from(self.queue.stream()) {
            Ok(0) => return Ok(false),
            Ok(received) => {
                self.last_active = Instant::now();
                self.broker.metrics.received_bytes.add(received as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
        if is_between_frames {
            self.frame_began = self.last_active;
        }
        Ok(true)
    }

    /// Handles the requests that are here, as far as there is room for their answers; false when the connection is to
    /// be closed. The others wait in the buffer, and deadlines go on.
    async fn handle_frames(&mut self) -> bool {
        while self.may_read() && !self.queue.is_closed() {
            match self.frames.next_frame(self.broker.config.request_bytes_max) {
                Ok(Next::Frame(frame)) => {
                    if !self.handle(frame).await {
                        return false;
                    }
                    self.frame_began = Instant::now();
                }
                Ok(Next::Large { held, size }) => match self.broker.request_memory.take(held, size) {
                    Some(grant) => self.frames.give(grant),
                    None => self.waiting = Some(self.broker.request_memory.wait(held, size)),
                },
                Ok(Next::Part) => break,
                Err(error) => {
                    self.broker.metrics.protocol_errors.add(1);
                    tracing::warn!(peer = %self.session.peer, listener = self.session.listener.name, "{error}");
                    return false;
                }
            }
        }
        self.frames.release();
        true
    }

    /// Goes on with the large frame that waited for memory; its time runs from here.
    fn go_on(&mut self, grant: Grant) {
        self.waiting = None;
        self.frames.give(grant);
        self.last_active = Instant::now();
        self.frame_began = self.last_active;
    }

    /// Whether bytes may come: there is memory for them, and room for an answer. A large frame that has begun is read
    /// to its end whatever answers wait, so that it gives its memory back.
    fn may_read(&self) -> bool {
        self.waiting.is_none() && (self.frames.has_large() || self.queue.has_room())
    }

    /// Hands one request to its handler; false when the connection is to be closed.
    async fn handle(&mut self, frame: Frame) -> bool {
        match dispatch::dispatch(&self.broker, &self.session, &self.queue, frame) {
            Ok(Flow::Done) => true,
            Ok(Flow::Wait(work)) => {
                work.await;
                true
            }
            Ok(Flow::Parked(parked)) => {
                self.parked.retain(|parked| !parked.is_done());
                self.parked.push(parked);
                true
            }
            Err(error) => {
                self.broker.metrics.protocol_errors.add(1);
                tracing::warn!(peer = %self.session.peer, "closing the connection: {error}");
                false
            }
        }
    }

    /// When something is due: a parked request, a frame that should have arrived, or the end of an idle connection.
    fn next_deadline(&self) -> Instant {
        let parked = self.parked.iter().filter(|parked| !parked.is_done()).map(|parked| parked.deadline());
        let quiet = self.last_active + self.broker.config.connection_idle_max;
        parked.chain(self.frame_deadline()).fold(quiet, Instant::min)
    }

    /// When the frame that is arriving must be whole; the time does not run while the broker itself does not read.
    fn frame_deadline(&self) -> Option<Instant> {
        (self.frames.has_part() && self.may_read()).then(|| self.frame_began + self.broker.config.frame_timeout)
    }

    /// Answers parked requests that are due; false when the connection has been silent for too long.
    fn expire(&mut self) -> bool {
        let now = Instant::now();
        self.parked.retain(|parked| {
            if parked.deadline() <= now {
                parked.expire();
            }
            !parked.is_done()
        });
        if self.frame_deadline().is_some_and(|deadline| deadline <= now) {
            tracing::warn!(peer = %self.session.peer, "closing the connection: a request began and did not arrive");
            return false;
        }
        if now.duration_since(self.last_active) < self.broker.config.connection_idle_max {
            return true;
        }
        // Someone who waits for us is not idle: the time runs again from here. Someone who takes no answer is gone.
        self.last_active = now;
        (self.waiting.is_some() || !self.queue.is_empty()) && !self.queue.is_blocked()
    }

    /// Sends what was in flight when the broker was told to stop.
    async fn drain(&mut self) {
        for parked in self.parked.drain(..) {
            parked.expire();
        }
        if tokio::time::timeout(DRAIN_TIMEOUT, self.queue.drain()).await.is_err() {
            tracing::debug!(peer = %self.session.peer, "answers in flight were not taken in time");
        }
    }
}

/// Waits for the memory asked for; for ever where none was.
async fn memory(waiting: &mut Option<MemoryWait>) -> Grant {
    match waiting {
        Some(wait) => wait.await,
        None => std::future::pending().await,
    }
}

impl Drop for Connection {
    /// Whichever way it ends, nobody waits for its answers any more.
    fn drop(&mut self) {
        self.queue.close();
        for parked in self.parked.drain(..) {
            parked.abandon();
        }
        self.broker.fetches.disconnected(self.session.id);
    }
}
