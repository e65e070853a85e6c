//! Who is on the other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::listener::Listener;

/// Whom a request is made by. Everyone is anonymous until there is authentication; the type travels with every
/// request already so that an authorizer has something to ask about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    /// Nobody in particular: `User:ANONYMOUS`.
    Anonymous,
}

/// Tells a connection from every other of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ConnectionId(u64);

impl ConnectionId {
    /// One that no connection had.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A connection as handlers see it.
#[derive(Clone)]
pub(crate) struct Session {
    /// Which connection it is.
    pub(crate) id: ConnectionId,
    /// The listener it came in by, whose advertised address it is answered with.
    pub(crate) listener: Arc<Listener>,
    /// Its other end.
    pub(crate) peer: SocketAddr,
    /// Who it is.
    pub(crate) principal: Principal,
}

impl std::fmt::Display for Principal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anonymous => formatter.write_str("User:ANONYMOUS"),
        }
    }
}
