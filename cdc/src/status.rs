//! How a running connector is doing, for a status page, metrics and the demo.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::lsn::Lsn;

/// What the connector is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// Not running yet.
    #[default]
    Starting,
    /// Connecting to Postgres, or waiting to try again.
    WaitingForPostgres,
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
    /// Rows the broker acknowledged. Rows repeated after a restart count again.
    pub rows_published: u64,
    /// Poison rows left out because of `on.error=skip`.
    pub rows_skipped: u64,
    /// Sessions with Postgres so far.
    pub sessions: u64,
    /// Why it last had to wait or stop; cleared when it streams again.
    pub last_error: Option<String>,
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
    rows_published: AtomicU64,
    rows_skipped: AtomicU64,
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
            rows_published: shared.rows_published.load(Ordering::Relaxed),
            rows_skipped: shared.rows_skipped.load(Ordering::Relaxed),
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

    pub(crate) fn add_session(&self) {
        self.shared.sessions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_published(&self) {
        self.shared.rows_published.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_skipped(&self) {
        self.shared.rows_skipped.fetch_add(1, Ordering::Relaxed);
    }
}
