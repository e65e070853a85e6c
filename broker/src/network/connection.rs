//! One connection: reads frames, hands each request to its handler, minds deadlines.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::frame_reader::FrameReader;
use super::listener::Listener;
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
    Tended,
    Deadline,
    Stop,
}

impl Connection {
    pub(crate) fn new(broker: Arc<BrokerState>, listener: Arc<Listener>, stream: TcpStream, peer: SocketAddr) -> Self {
        Self {
            broker,
            session: Session { id: ConnectionId::next(), listener, peer, principal: Principal::Anonymous },
            queue: Arc::new(ResponseQueue::new(stream)),
            frames: FrameReader::default(),
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
        tokio::pin!(deadline);
        while !queue.is_closed() {
            if !self.handle_frames().await {
                return Ok(());
            }
            let next = self.next_deadline();
            // An early wake-up is cheaper than moving the timer at every request.
            if next < deadline.deadline() || deadline.is_elapsed() {
                deadline.as_mut().reset(next);
            }
            let may_read = queue.has_room();
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => Event::Stop,
                readable = queue.stream().readable(), if may_read => readable.map(|()| Event::Readable)?,
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
        match self.queue.stream().try_read_buf(self.frames.room()) {
            Ok(0) => return Ok(false),
            Ok(_) => self.last_active = Instant::now(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.frames.release(),
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
        while self.queue.has_room() && !self.queue.is_closed() {
            let frame = match self.frames.next_frame(self.broker.config.request_bytes_max) {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(error) => {
                    tracing::warn!(peer = %self.session.peer, listener = self.session.listener.name, "{error}");
                    return false;
                }
            };
            if !self.handle(frame).await {
                return false;
            }
            self.frame_began = Instant::now();
        }
        true
    }

    /// Hands one request to its handler; false when the connection is to be closed.
    async fn handle(&mut self, frame: Bytes) -> bool {
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
        (self.frames.has_part() && self.queue.has_room()).then(|| self.frame_began + self.broker.config.frame_timeout)
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
        // Someone who waits for an answer is not idle: the time runs again from here. Someone who takes none is gone.
        self.last_active = now;
        !self.queue.is_empty() && !self.queue.is_blocked()
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
