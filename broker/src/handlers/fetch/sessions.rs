//! The fetch sessions of all connections: a bounded cache (KIP-227). Pure: time and numbers come from outside.
//!
//! Bounds: sessions, partitions in all of them, and one session a connection: a client that opens one with every
//! request, as some do, replaces its own and fills nothing. When all slots are taken a newcomer gets the slot of the
//! session that was not used for longest, if that is long enough ago, or of the smallest one that has had its time, if
//! the newcomer is larger; otherwise it goes without, and sends whole requests. A session ends with its connection.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;
use pillion_wire::ErrorCode;

use super::session::FetchSession;
use super::wanted::{PartitionKey, Wanted};
use crate::network::session::ConnectionId;

/// The bounds of a cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLimits {
    /// Sessions (`max.incremental.fetch.session.cache.slots`).
    pub(super) sessions: usize,
    /// Partitions in all sessions together.
    pub(super) partitions: usize,
    /// How long a session is safe from others (`min.incremental.fetch.session.eviction.ms`).
    pub(super) safe_for: Duration,
}

/// A session as others hold it.
pub(super) type SharedSession = Arc<Mutex<FetchSession>>;

/// All sessions.
pub(super) struct SessionCache {
    limits: SessionLimits,
    /// The one used last in front.
    sessions: LruCache<i32, Slot>,
    /// Size and number of those that a larger one may replace.
    replaceable: BTreeSet<(usize, i32)>,
    connections: HashMap<ConnectionId, ConnectionFetches>,
    /// In all sessions.
    partitions: usize,
}

struct Slot {
    session: SharedSession,
    connection: ConnectionId,
    opened: Instant,
    used: Instant,
    partitions: usize,
}

/// What is remembered of a connection that fetches.
#[derive(Default)]
struct ConnectionFetches {
    session: Option<i32>,
    /// Where its next request without a session begins, for the last answer had no room for that partition.
    first: Option<Wanted>,
}

impl SessionCache {
    pub(super) fn new(limits: SessionLimits) -> Self {
        let (sessions, replaceable, connections) = (LruCache::unbounded(), BTreeSet::new(), HashMap::new());
        Self { limits, sessions, replaceable, connections, partitions: 0 }
    }

    /// Opens a session for a whole request, in place of the connection's former one; `None` when there is no room.
    /// `number` draws numbers for sessions.
    pub(super) fn open(
        &mut self,
        connection: ConnectionId,
        by_id: bool,
        wanted: &[Wanted],
        now: Instant,
        mut number: impl FnMut() -> i32,
    ) -> Option<SharedSession> {
        if let Some(former) = self.connections.get(&connection).and_then(|fetches| fetches.session) {
            self.close(former);
        }
        if wanted.is_empty() || self.partitions + wanted.len() > self.limits.partitions {
            return None;
        }
        if self.sessions.len() >= self.limits.sessions && !self.replace(wanted.len(), now) {
            return None;
        }
        let id = loop {
            let id = number();
            if id > 0 && !self.sessions.contains(&id) {
                break id;
            }
        };
        let session = FetchSession::new(id, by_id, wanted);
        let partitions = session.len();
        let session = Arc::new(Mutex::new(session));
        self.partitions += partitions;
        self.connections.entry(connection).or_default().session = Some(id);
        self.sessions.put(id, Slot { session: Arc::clone(&session), connection, opened: now, used: now, partitions });
        Some(session)
    }

    /// Takes a request into its session; `None` when that has become empty, and is closed.
    ///
    /// # Errors
    /// FETCH_SESSION_ID_NOT_FOUND, also when the session outgrows the cache; those of [`FetchSession::go_on`].
    pub(super) fn go_on<'a>(
        &mut self,
        (id, epoch): (i32, i32),
        by_id: bool,
        changed: Vec<Wanted>,
        forgotten: impl Iterator<Item = PartitionKey<'a>>,
        now: Instant,
    ) -> Result<Option<SharedSession>, ErrorCode> {
        let slot = self.sessions.peek_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        let session = Arc::clone(&slot.session);
        let partitions = {
            let mut session = session.lock();
            session.go_on(epoch, by_id, changed, forgotten)?;
            session.len()
        };
        slot.used = now;
        let before = std::mem::replace(&mut slot.partitions, partitions);
        let had_its_time = now.duration_since(slot.opened) > self.limits.safe_for;
        self.sessions.promote(&id);
        self.replaceable.remove(&(before, id));
        if had_its_time {
            self.replaceable.insert((partitions, id));
        }
        self.partitions = self.partitions - before + partitions;
        if partitions == 0 {
            self.close(id);
            return Ok(None);
        }
        if self.partitions > self.limits.partitions {
            self.close(id);
            return Err(ErrorCode::FetchSessionIdNotFound);
        }
        Ok(Some(session))
    }

    /// Closes a session, if it is there.
    pub(super) fn close(&mut self, id: i32) {
        let Some(slot) = self.sessions.pop(&id) else { return };
        self.replaceable.remove(&(slot.partitions, id));
        self.partitions -= slot.partitions;
        if let Some(fetches) = self.connections.get_mut(&slot.connection) {
            fetches.session = None;
        }
    }

    /// Forgets all about a connection, which is gone.
    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        if let Some(id) = self.connections.remove(&connection).and_then(|fetches| fetches.session) {
            self.close(id);
        }
    }

    /// The partition that the connection's next request without a session begins with, which is forgotten by this.
    pub(super) fn take_first(&mut self, connection: ConnectionId) -> Option<Wanted> {
        self.connections.entry(connection).or_default().first.take()
    }

    /// Notes it, unless the connection is gone.
    pub(super) fn begin_with(&mut self, connection: ConnectionId, first: &Wanted) {
        if let Some(fetches) = self.connections.get_mut(&connection) {
            fetches.first = Some(first.clone());
        }
    }

    /// Makes room for a session of so many partitions, if anyone must give way to it.
    fn replace(&mut self, partitions: usize, now: Instant) -> bool {
        let Some((oldest, slot)) = self.sessions.peek_lru() else { return false };
        if now.duration_since(slot.used) > self.limits.safe_for {
            let oldest = *oldest;
            self.close(oldest);
            return true;
        }
        match self.replaceable.first() {
            Some((smallest, id)) if *smallest < partitions => {
                let id = *id;
                self.close(id);
                true
            }
            _ => false,
        }
    }
}
