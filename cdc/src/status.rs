//! How a running connector is doing, for a status page, metrics and the demo.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::connector::Reached;
use crate::lsn::Lsn;

/// What the connector is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Not running yet.
    #[default]
    Starting,
    /// Connecting to Postgres, or waiting to try again.
    WaitingForPostgres,
    /// Another connector has the slot; this one takes over when it goes.
    Standby,
    /// Holding the slot, connecting to the broker or waiting to try again.
    WaitingForBroker,
    /// Publishing what is committed.
    Streaming,
    /// Ended.
    Stopped,
}

/// One look at a connector. Numbers count from the start of the process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// What it is doing.
    pub state: State,
    /// The last position confirmed to the slot; zero before the first.
    pub confirmed_lsn: Lsn,
    /// The server's position when it was last asked.
    pub server_lsn: Lsn,
    /// Bytes of log between the two; 0 before the first confirmation.
    pub lag_bytes: u64,
    /// Bytes of log that the server keeps for the slot, as of a few seconds ago.
    pub retained_bytes: u64,
    /// Rows published: committed, where delivery is exactly once. Rows repeated after a restart count again.
    pub rows_published: u64,
    /// Postgres transactions that held them.
    pub transactions: u64,
    /// Commits to the broker: each holds one transaction or more.
    pub commits: u64,
    /// When the last published transaction was committed, in milliseconds since the Unix epoch; 0 before the first.
    pub last_commit_time_ms: i64,
    /// When the oldest transaction was committed that was received and is not published, in milliseconds since the Unix
    /// epoch; 0 when there is none.
    pub pending_commit_time_ms: i64,
    /// The id of the last row published, as text.
    pub last_event_id: Option<Bytes>,
    /// Poison rows left out because of `on.error=skip`.
    pub rows_skipped: u64,
    /// Poison rows sent to the dead-letter topic.
    pub dead_letters: u64,
    /// Sessions with Postgres so far.
    pub sessions: u64,
    /// Why it last had to wait or stop; cleared when it streams again.
    pub last_error: Option<String>,
}

impl Snapshot {
    /// How far behind publishing is at `now_ms` (milliseconds since the Unix epoch), in milliseconds: the time since
    /// the oldest transaction was committed that was received and is not published; 0 when there is none.
    pub fn lag_ms(&self, now_ms: i64) -> i64 {
        if self.pending_commit_time_ms == 0 { 0 } else { (now_ms - self.pending_commit_time_ms).max(0) }
    }
}

/// A handle to a connector's status: cheap to clone, read from anywhere.
#[derive(Debug, Clone, Default)]
pub struct Status {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    confirmed_lsn: AtomicU64,
    server_lsn: AtomicU64,
    retained_bytes: AtomicU64,
    rows_published: AtomicU64,
    transactions: AtomicU64,
    commits: AtomicU64,
    last_commit_time_ms: AtomicI64,
    pending_commit_time_ms: AtomicI64,
    last_event_id: Mutex<Option<Bytes>>,
    rows_skipped: AtomicU64,
    dead_letters: AtomicU64,
    sessions: AtomicU64,
    condition: Mutex<(State, Option<String>)>,
}

impl Status {
    /// The status now.
    pub fn snapshot(&self) -> Snapshot {
        let shared = &*self.shared;
        let confirmed_lsn = Lsn::new(shared.confirmed_lsn.load(Ordering::Relaxed));
        let server_lsn = Lsn::new(shared.server_lsn.load(Ordering::Relaxed));
        let (state, last_error) = shared.condition.lock().clone();
        let lag_bytes = if confirmed_lsn == Lsn::ZERO { 0 } else { server_lsn.bytes_since(confirmed_lsn) };
        Snapshot {
            state,
            confirmed_lsn,
            server_lsn,
            lag_bytes,
            retained_bytes: shared.retained_bytes.load(Ordering::Relaxed),
            rows_published: shared.rows_published.load(Ordering::Relaxed),
            transactions: shared.transactions.load(Ordering::Relaxed),
            commits: shared.commits.load(Ordering::Relaxed),
            last_commit_time_ms: shared.last_commit_time_ms.load(Ordering::Relaxed),
            pending_commit_time_ms: shared.pending_commit_time_ms.load(Ordering::Relaxed),
            last_event_id: shared.last_event_id.lock().clone(),
            rows_skipped: shared.rows_skipped.load(Ordering::Relaxed),
            dead_letters: shared.dead_letters.load(Ordering::Relaxed),
            sessions: shared.sessions.load(Ordering::Relaxed),
            last_error,
        }
    }

    pub(crate) fn set_state(&self, state: State) {
        let mut condition = self.shared.condition.lock();
        condition.0 = state;
        if state == State::Streaming {
            condition.1 = None;
        }
    }

    pub(crate) fn set_error(&self, reason: &str) {
        self.shared.condition.lock().1 = Some(reason.to_owned());
    }

    pub(crate) fn set_confirmed(&self, lsn: Lsn) {
        self.shared.confirmed_lsn.fetch_max(lsn.as_u64(), Ordering::Relaxed);
    }

    pub(crate) fn set_server_lsn(&self, lsn: Lsn) {
        self.shared.server_lsn.fetch_max(lsn.as_u64(), Ordering::Relaxed);
    }

    /// A row of a transaction committed then was received.
    pub(crate) fn received(&self, commit_time_ms: i64) {
        let pending = &self.shared.pending_commit_time_ms;
        if pending.load(Ordering::Relaxed) == 0 {
            pending.store(commit_time_ms, Ordering::Relaxed);
        }
    }

    /// What is pending now begins at or after this time; 0 when nothing is.
    pub(crate) fn set_pending(&self, commit_time_ms: i64) {
        self.shared.pending_commit_time_ms.store(commit_time_ms, Ordering::Relaxed);
    }

    pub(crate) fn set_retained(&self, bytes: u64) {
        self.shared.retained_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_session(&self) {
        self.shared.sessions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn committed(&self, reached: &Reached) {
        let shared = &*self.shared;
        shared.commits.fetch_add(1, Ordering::Relaxed);
        shared.rows_published.fetch_add(reached.rows, Ordering::Relaxed);
        shared.transactions.fetch_add(reached.transactions, Ordering::Relaxed);
        if reached.rows > 0 {
            let last_commit_time_ms = reached.commit_time_micros.div_euclid(1000);
            shared.last_commit_time_ms.store(last_commit_time_ms, Ordering::Relaxed);
            shared.last_event_id.lock().clone_from(&reached.progress.last_event_id);
        }
    }

    pub(crate) fn add_dead_letter(&self) {
        self.shared.dead_letters.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_skipped(&self) {
        self.shared.rows_skipped.fetch_add(1, Ordering::Relaxed);
    }
}
