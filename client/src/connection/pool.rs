//! The connections for one purpose: at most one to each broker, made on first use, remade after it broke.
//!
//! A broker answers a connection's requests in order, so a fetch that waits would hold up a produce behind it:
//! the producer, each consumer and the rest have a pool each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::transport::Transport;
use super::{Connection, ConnectionError, authentication, handshake, reauthentication, task};
use crate::backoff::Backoff;
use crate::metadata::Broker;
use crate::security::Security;

/// A broker that does not accept within this time is tried again later, however long a request may take.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(10);

/// Makes connections, and owns the tasks that serve them.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) client_id: Arc<str>,
    pub(crate) security: Arc<Security>,
    pub(crate) request_timeout: Duration,
    pub(crate) backoff: Backoff,
    pub(crate) tasks: TaskTracker,
    pub(crate) cancelled: CancellationToken,
}

impl Connector {
    /// Connects to `host:port`, learns the broker's versions, and authenticates where that is wanted.
    pub(crate) async fn connect(&self, address: Arc<str>) -> Result<Arc<Connection>, ConnectionError> {
        let timeout = self.request_timeout.min(CONNECT_TIMEOUT_MAX);
        let security = &*self.security;
        let transport = Transport::connect(&address, security.tls.as_ref(), timeout).await?;
        let client_id = self.client_id.clone();
        let connection = Connection::new(address, client_id, security.protocol, self.request_timeout, transport);
        let connection = Arc::new(connection);
        self.tasks.spawn(task::run(connection.clone(), self.cancelled.clone()));
        let close_unless_ready = CloseOnDrop::new(connection.clone());
        let versions = handshake::negotiate(&connection).await?;
        // Nothing else sets it, so it is unset.
        let _ = connection.versions.set(versions);
        if let Some(credentials) = &security.credentials {
            let lifetime = authentication::authenticate(&connection, credentials).await?;
            if let Some(lifetime) = lifetime {
                self.tasks.spawn(reauthentication::run(connection.clone(), credentials.clone(), lifetime));
            }
        }
        close_unless_ready.keep();
        Ok(connection)
    }
}

/// Closes a connection that is not needed beyond a scope, also when the scope is left early.
pub(crate) struct CloseOnDrop(Option<Arc<Connection>>);

impl CloseOnDrop {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self(Some(connection))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.close();
        }
    }
}

/// The connections for one purpose.
pub(crate) struct Pool {
    connector: Connector,
    links: Mutex<HashMap<i32, Arc<Link>>>,
}

impl Pool {
    /// A pool without connections.
    pub(crate) fn new(connector: Connector) -> Self {
        Self { connector, links: Mutex::new(HashMap::new()) }
    }

    /// The connection to a broker, if there is one in use.
    pub(crate) fn established(&self, node: i32) -> Option<Arc<Connection>> {
        self.lock().get(&node).and_then(|link| link.established())
    }

    /// The connection to a broker, made if need be. Failures in a row are spaced by the backoff.
    ///
    /// # Errors
    /// [`ConnectionError`] of the attempt made meanwhile, by this caller or another.
    pub(crate) async fn connection(&self, broker: &Broker) -> Result<Arc<Connection>, ConnectionError> {
        self.link(broker).connection(&self.connector).await
    }

    /// Closes every connection.
    pub(crate) fn close(&self) {
        for (_, link) in self.lock().drain() {
            link.close();
        }
    }

    /// The link to a broker's present address; one to a former address is closed.
    fn link(&self, broker: &Broker) -> Arc<Link> {
        let mut links = self.lock();
        if let Some(link) = links.get(&broker.id) {
            if link.address == broker.address {
                return link.clone();
            }
            link.close();
        }
        let link = Arc::new(Link::new(broker.address.clone()));
        links.insert(broker.id, link.clone());
        link
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

/// The way to one broker.
struct Link {
    address: Arc<str>,
    current: Mutex<Option<Arc<Connection>>>,
    attempts: tokio::sync::Mutex<Attempts>,
    /// Outcomes of attempts so far: tells a caller that waited whether another has just tried.
    outcomes: std::sync::atomic::AtomicU64,
}

/// What came of connecting so far.
struct Attempts {
    failures: u32,
    not_before: Instant,
    last: Option<ConnectionError>,
}

impl Link {
    fn new(address: Arc<str>) -> Self {
        Self {
            address,
            current: Mutex::new(None),
            attempts: tokio::sync::Mutex::new(Attempts { failures: 0, not_before: Instant::now(), last: None }),
            outcomes: std::sync::atomic::AtomicU64::new(0),
        }
    }

    fn established(&self) -> Option<Arc<Connection>> {
        self.lock().as_ref().filter(|connection| connection.is_open()).cloned()
    }

    async fn connection(&self, connector: &Connector) -> Result<Arc<Connection>, ConnectionError> {
        use std::sync::atomic::Ordering::Relaxed;
        if let Some(connection) = self.established() {
            return Ok(connection);
        }
        let seen = self.outcomes.load(Relaxed);
        let mut attempts = self.attempts.lock().await;
        if let Some(connection) = self.established() {
            return Ok(connection);
        }
        if let Some(last) = attempts.last.as_ref().filter(|_| self.outcomes.load(Relaxed) != seen) {
            return Err(last.clone());
        }
        tokio::time::sleep_until(attempts.not_before.into()).await;
        let outcome = connector.connect(self.address.clone()).await;
        self.outcomes.fetch_add(1, Relaxed);
        attempts.last = outcome.as_ref().err().cloned();
        // A connection that breaks at once counts against the next one, too.
        attempts.failures = if outcome.is_ok() { 0 } else { attempts.failures.saturating_add(1) };
        attempts.not_before = Instant::now() + connector.backoff.jittered(attempts.failures.max(1));
        let connection = outcome?;
        *self.lock() = Some(connection.clone());
        Ok(connection)
    }

    fn close(&self) {
        if let Some(connection) = self.lock().take() {
            connection.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Connection>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
