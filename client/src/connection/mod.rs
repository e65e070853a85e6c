//! One connection to one broker: requests go out in order, answers come back in the same order.
//!
//! Whoever submits a request writes it to the socket itself when the socket has room; the connection's task
//! ([`task`]) reads, completes requests, and writes only what was left over. So a request costs no hand-over on its
//! way out and one on its way back.
//!
//! **Invariant:** every submitted request is completed exactly once, also when the connection breaks. Completions run
//! without a lock held.

mod authentication;
mod error;
mod frames;
mod handshake;
mod outgoing;
mod pool;
mod reauthentication;
mod task;
mod tls_advice;
mod tls_session;
mod transport;
mod versions;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_wire::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use pillion_wire::{ApiMessage, Chunk, Request, frame};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

pub use authentication::AuthenticationError;
pub use error::ConnectionError;
pub(crate) use pool::{CloseOnDrop, Connector, Pool};
pub use tls_advice::TlsAdvice;
pub(crate) use versions::ApiVersions;

use outgoing::Outgoing;
use transport::Transport;

use crate::security::SecurityProtocol;

/// Requests of one connection that wait for their answers, at most; more callers wait for their turn.
const IN_FLIGHT_MAX: usize = 64;

/// What happens with a request's answer: the frame without its length, or why there is none.
pub(crate) type Completion = Box<dyn FnOnce(Result<Bytes, ConnectionError>) + Send>;

/// A live connection; its task keeps it alive until it breaks or is closed.
pub(crate) struct Connection {
    address: Arc<str>,
    client_id: Arc<str>,
    protocol: SecurityProtocol,
    request_timeout: Duration,
    transport: Transport,
    versions: OnceLock<ApiVersions>,
    next_correlation_id: AtomicI32,
    state: Mutex<State>,
    /// Wakes the task when there is output left over or the connection is to end.
    wake: Notify,
    turns: Semaphore,
    /// Cancelled when the connection has ended, for what lives beside its task.
    over: CancellationToken,
}

struct State {
    outgoing: Outgoing,
    waiting: VecDeque<Waiting>,
    /// Requests that wait until the client has authenticated anew, in order; `None` while it does not.
    held: Option<VecDeque<Held>>,
    /// Answers received.
    answered: u64,
    ended: Option<ConnectionError>,
}

/// A request that is not to be written yet.
struct Held {
    chunks: Vec<Chunk>,
    then: Then,
}

/// How a request goes on once it is written.
enum Then {
    /// Its answer is waited for.
    Wait(Waiting),
    /// It has none.
    Complete(Completion),
}

impl Then {
    fn into_completion(self) -> Completion {
        match self {
            Self::Wait(waiting) => waiting.completion,
            Self::Complete(completion) => completion,
        }
    }
}

impl State {
    fn push(&mut self, chunks: Vec<Chunk>, then: Then) {
        match then {
            Then::Wait(waiting) => {
                self.waiting.push_back(waiting);
                self.outgoing.push(chunks, None);
            }
            Then::Complete(completion) => self.outgoing.push(chunks, Some(completion)),
        }
    }
}

/// A request whose answer is due.
struct Waiting {
    correlation_id: i32,
    api: &'static str,
    waited: Duration,
    deadline: Instant,
    completion: Completion,
}

impl Connection {
    fn new(
        address: Arc<str>,
        client_id: Arc<str>,
        protocol: SecurityProtocol,
        request_timeout: Duration,
        transport: Transport,
    ) -> Self {
        let (outgoing, waiting) = (Outgoing::default(), VecDeque::new());
        Self {
            address,
            client_id,
            protocol,
            request_timeout,
            transport,
            versions: OnceLock::new(),
            next_correlation_id: AtomicI32::new(0),
            state: Mutex::new(State { outgoing, waiting, held: None, answered: 0, ended: None }),
            wake: Notify::new(),
            turns: Semaphore::new(IN_FLIGHT_MAX),
            over: CancellationToken::new(),
        }
    }

    /// Whether requests can still be submitted.
    pub(crate) fn is_open(&self) -> bool {
        self.lock().ended.is_none()
    }

    /// The newest version of an API that both sides speak, up to `newest` where the caller cannot use more.
    ///
    /// # Errors
    /// [`ConnectionError::UnsupportedApi`].
    pub(crate) fn version<R: Request>(&self, newest: i16) -> Result<i16, ConnectionError> {
        self.version_from::<R>(0, newest)
    }

    /// As [`Connection::version`], and not below `oldest`, where an older one means something else.
    ///
    /// # Errors
    /// [`ConnectionError::UnsupportedApi`].
    pub(crate) fn version_from<R: Request>(&self, oldest: i16, newest: i16) -> Result<i16, ConnectionError> {
        let versions = self.versions.get();
        let version = versions.and_then(|versions| versions.pick::<R>(newest)).filter(|version| *version >= oldest);
        version.ok_or_else(|| ConnectionError::UnsupportedApi {
            address: self.address.to_string(),
            api: R::API,
            broker: versions.map_or_else(|| "none".to_owned(), |versions| versions.describe(R::KEY)),
        })
    }

    /// Sends a request and waits for its answer, for at most the request timeout.
    ///
    /// Dropping the future leaves the connection in order: the answer is read and thrown away.
    ///
    /// # Errors
    /// [`ConnectionError`]; after one that breaks the connection the request may or may not have been carried out.
    pub(crate) async fn request<R: Request>(&self, message: &R) -> Result<R::Response, ConnectionError> {
        let version = self.version::<R>(i16::MAX)?;
        let frame = self.exchange(message, version).await?;
        self.decode::<R>(&frame, version)
    }

    /// As [`Connection::request`], with a request that depends on its version, which lies between two, inclusive.
    ///
    /// # Errors
    /// As [`Connection::request`].
    pub(crate) async fn request_by<R: Request>(
        &self,
        (oldest, newest): (i16, i16),
        build: impl Fn(i16) -> R,
    ) -> Result<R::Response, ConnectionError> {
        let version = self.version_from::<R>(oldest, newest)?;
        let frame = self.exchange(&build(version), version).await?;
        self.decode::<R>(&frame, version)
    }

    /// The level of a feature that is in force on the broker's cluster (KIP-584); 0 where there is none.
    pub(crate) fn finalized_feature(&self, name: &str) -> i16 {
        self.versions.get().map_or(0, |versions| versions.finalized_feature(name))
    }

    /// Decodes the answer to a request.
    ///
    /// # Errors
    /// [`ConnectionError::Decode`].
    pub(crate) fn decode<R: Request>(&self, frame: &Bytes, version: i16) -> Result<R::Response, ConnectionError> {
        match frame::decode_response::<R::Response>(frame, version) {
            Ok((_, response)) => Ok(response),
            Err(source) => Err(ConnectionError::Decode { what: R::API, source }),
        }
    }

    /// Sends a request in a given version and gives the answer's frame.
    async fn exchange<R: Request>(&self, message: &R, version: i16) -> Result<Bytes, ConnectionError> {
        let _turn = self.turns.acquire().await.map_err(|_| self.closed())?;
        self.exchange_later(message, version, self.request_timeout).await.unwrap_or_else(|_| Err(self.closed()))
    }

    /// Sends a request and gives what its answer will arrive in.
    pub(crate) fn exchange_later<R: Request>(
        &self,
        message: &R,
        version: i16,
        timeout: Duration,
    ) -> oneshot::Receiver<Result<Bytes, ConnectionError>> {
        let (sender, receiver) = oneshot::channel();
        self.submit(message, version, timeout, Box::new(move |answer| drop(sender.send(answer))));
        receiver
    }

    /// Sends a request; `completion` runs once, on whichever thread learns of the answer or of its absence.
    ///
    /// The caller bounds how many it has in flight.
    pub(crate) fn submit<R: Request>(&self, message: &R, version: i16, timeout: Duration, completion: Completion) {
        self.send(message, version, Some(timeout), completion);
    }

    /// Sends a request that has no answer; `completion` runs with an empty frame once it is handed to the socket.
    pub(crate) fn submit_unanswered<R: Request>(&self, message: &R, version: i16, completion: Completion) {
        self.send(message, version, None, completion);
    }

    fn send<R: Request>(&self, message: &R, version: i16, timeout: Option<Duration>, completion: Completion) {
        let correlation_id = self.next_correlation_id.fetch_add(1, Ordering::Relaxed);
        let chunks = match frame::encode_request(message, version, correlation_id, Some(&self.client_id)) {
            Ok(chunks) => chunks,
            Err(source) => return completion(Err(ConnectionError::Encode { what: R::API, source })),
        };
        let mut state = self.lock();
        if let Some(ended) = &state.ended {
            let ended = ended.clone();
            drop(state);
            return completion(Err(ended));
        }
        let then = match timeout {
            Some(waited) => {
                let deadline = Instant::now() + waited;
                Then::Wait(Waiting { correlation_id, api: R::API, waited, deadline, completion })
            }
            None => Then::Complete(completion),
        };
        match &mut state.held {
            Some(held) if !is_authentication::<R>() => held.push_back(Held { chunks, then }),
            _ => state.push(chunks, then),
        }
        self.flush(state);
    }

    /// Keeps back whatever is sent from here on, but for authentication: a broker takes nothing else meanwhile.
    fn hold(&self) {
        self.lock().held.get_or_insert_default();
    }

    /// Writes what was kept back.
    fn release(&self) {
        let mut state = self.lock();
        for held in state.held.take().unwrap_or_default() {
            state.push(held.chunks, held.then);
        }
        self.flush(state);
    }

    /// Writes what the socket takes; wakes the task when that is not all.
    fn flush(&self, mut state: MutexGuard<'_, State>) {
        let written = state.outgoing.write_to(&self.transport);
        let handed_over = state.outgoing.take_handed_over();
        let left = !state.outgoing.is_empty() || self.transport.wants_flush();
        drop(state);
        for completion in handed_over {
            completion(Ok(Bytes::new()));
        }
        match written {
            Ok(()) if left => self.wake.notify_one(),
            Ok(()) => {}
            Err(source) => self.end(ConnectionError::of_socket(&self.address, source)),
        }
    }

    /// Ends the connection: what waits is completed with `error`, later requests too.
    fn end(&self, error: ConnectionError) {
        let mut state = self.lock();
        if state.ended.is_some() {
            return;
        }
        state.ended = Some(error.clone());
        let waiting = std::mem::take(&mut state.waiting);
        let unsent = state.outgoing.take_all();
        let held = state.held.take().unwrap_or_default();
        drop(state);
        self.turns.close();
        self.wake.notify_one();
        self.over.cancel();
        let held = held.into_iter().map(|held| held.then.into_completion());
        for completion in waiting.into_iter().map(|waiting| waiting.completion).chain(unsent).chain(held) {
            completion(Err(error.clone()));
        }
    }

    /// Ends the connection from this side.
    pub(crate) fn close(&self) {
        self.end(ConnectionError::Closed { address: self.address.to_string() });
    }

    /// Why the connection ended, or that it is closed.
    fn closed(&self) -> ConnectionError {
        let ended = self.lock().ended.clone();
        ended.unwrap_or_else(|| ConnectionError::Closed { address: self.address.to_string() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A completion never runs under the lock, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request is part of authenticating.
fn is_authentication<R: Request>() -> bool {
    matches!(R::KEY, SaslHandshakeRequest::KEY | SaslAuthenticateRequest::KEY)
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("address", &self.address).finish_non_exhaustive()
    }
}
