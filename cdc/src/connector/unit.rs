//! What is committed together, and when. Pure: the time is an argument.
//!
//! A unit holds whole Postgres transactions, as many as come while the one before is being committed: alone on an idle
//! stream a transaction is committed at once, and under load the cost of a commit is shared. Only a transaction that
//! takes longer than the cluster lets one stay open is split, at a row.

use std::time::Duration;

use tokio::time::Instant;

use crate::lsn::Lsn;
use crate::progress::Progress;

#[cfg(test)]
mod tests;

/// A unit is committed at this size, however busy the stream is: it is in the cluster's log already, but not seen.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// While rows keep coming, a unit is committed after this time: rows wait no longer for company.
const BUSY_TIME: Duration = Duration::from_millis(10);
/// Rows in a unit from which on more are sure to come: as many as arrive, while one unit is committed, only at many
/// thousand a second.
const BUSY_ROWS: u64 = 100;
/// And after this time although the one before is still being committed.
const WAITING_TIME: Duration = Duration::from_secs(1);
/// A transaction that is still being received is split after this time: half of what the cluster allows.
const SPLIT_TIME: Duration = Duration::from_secs(5);
/// How often an idle stream's position is written down, and how often when the server waits for it.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
const URGENT_INTERVAL: Duration = Duration::from_millis(250);

/// How far everything sent reaches, and what is to be told once it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    /// What is published once it is committed.
    pub(crate) progress: Progress,
    /// When the last transaction of it was committed, in microseconds since the Unix epoch; 0 if that is not known.
    pub(crate) commit_time_micros: i64,
    /// Postgres transactions that ended in it.
    pub(crate) transactions: u64,
    /// Rows in it.
    pub(crate) rows: u64,
}

/// The unit being filled.
#[derive(Debug)]
pub(super) struct Unit {
    reached: Reached,
    /// When its first row was sent, or its first transaction ended; `None` while it is empty.
    opened: Option<Instant>,
    bytes: usize,
    in_transaction: bool,
    /// A position the server says everything before was sent of, beyond `reached`.
    idle: Lsn,
    is_urgent: bool,
    /// When a unit was last committed.
    committed: Option<Instant>,
}

impl Unit {
    /// An empty unit behind what is published already.
    pub(super) fn new(published: Progress) -> Unit {
        let reached = Reached { progress: published, commit_time_micros: 0, transactions: 0, rows: 0 };
        Unit {
            reached,
            opened: None,
            bytes: 0,
            in_transaction: false,
            idle: Lsn::ZERO,
            is_urgent: false,
            committed: None,
        }
    }

    /// How far everything sent so far reaches.
    pub(super) fn progress(&self) -> &Progress {
        &self.reached.progress
    }

    /// Whether it holds nothing that has to be committed.
    pub(super) fn is_empty(&self) -> bool {
        self.opened.is_none()
    }

    /// What the progress record carries from here on ([`Progress::snapshot`]).
    pub(super) fn set_snapshot(&mut self, snapshot: Option<String>) {
        self.reached.progress.snapshot = snapshot;
    }

    pub(super) fn begin_transaction(&mut self) {
        self.in_transaction = true;
    }

    /// A row was sent, or left out for good.
    pub(super) fn add_row(&mut self, (commit_lsn, ordinal): (Lsn, u64), id: Option<bytes::Bytes>, bytes: usize) {
        let progress = &mut self.reached.progress;
        (progress.commit_lsn, progress.ordinal, progress.last_event_id) = (commit_lsn, ordinal, id);
        self.reached.rows += 1;
        self.bytes += bytes;
        if self.opened.is_none() {
            self.opened = Some(Instant::now());
        }
    }

    /// A transaction's rows are all there. One without rows opens no unit: it is an idle stream's position.
    pub(super) fn end_transaction(&mut self, end_lsn: Lsn, commit_time_micros: i64) {
        self.in_transaction = false;
        if self.is_empty() {
            self.idle = self.idle.max(end_lsn);
            return;
        }
        self.reached.progress.end_lsn = end_lsn.max(self.reached.progress.end_lsn);
        self.reached.commit_time_micros = commit_time_micros;
        self.reached.transactions += 1;
    }

    /// The server has sent everything that was committed before `wal_end`.
    pub(super) fn keep_alive(&mut self, wal_end: Lsn, is_urgent: bool) {
        // Within a transaction it says nothing new: its rows are not all here.
        if self.in_transaction {
            return;
        }
        self.idle = self.idle.max(wal_end);
        self.is_urgent |= is_urgent;
        if !self.is_empty() {
            self.reached.progress.end_lsn = self.reached.progress.end_lsn.max(wal_end);
        }
    }

    /// From when on it may be committed, if nothing else is waiting to be received by then; `None` while it must not
    /// be. A few rows leave at once. Many in a short time are a stream that only draws breath: they wait for more, or
    /// each breath would cost a commit.
    pub(super) fn ready_at(&self, commits_in_flight: usize) -> Option<Instant> {
        let opened = self.opened.filter(|_| !self.in_transaction && commits_in_flight == 0)?;
        Some(if self.reached.rows < BUSY_ROWS { opened } else { opened + BUSY_TIME })
    }

    /// Whether it has to be committed although more is waiting.
    pub(super) fn is_due(&self, now: Instant, commits_in_flight: usize) -> bool {
        let Some(opened) = self.opened else { return false };
        let age = now.saturating_duration_since(opened);
        match (self.in_transaction, commits_in_flight) {
            (true, _) => age >= SPLIT_TIME,
            (false, 0) => age >= BUSY_TIME || self.bytes >= BYTES_MAX,
            (false, _) => age >= WAITING_TIME || self.bytes >= BYTES_MAX,
        }
    }

    /// Whether an idle stream's position should be written down, so that the server may forget its log up to there.
    pub(super) fn is_idle_due(&self, now: Instant) -> bool {
        let interval = if self.is_urgent { URGENT_INTERVAL } else { IDLE_INTERVAL };
        self.is_idle() && self.committed.is_none_or(|committed| now.saturating_duration_since(committed) >= interval)
    }

    /// Whether the stream is idle and has moved on.
    pub(super) fn is_idle(&self) -> bool {
        self.is_empty() && !self.in_transaction && self.idle > self.reached.progress.end_lsn
    }

    /// Takes what it has come to, to commit it; the next unit begins behind it.
    pub(super) fn take(&mut self, now: Instant) -> Reached {
        if !self.in_transaction {
            self.reached.progress.end_lsn = self.reached.progress.end_lsn.max(self.idle);
        }
        self.is_urgent = false;
        (self.opened, self.bytes, self.committed) = (None, 0, Some(now));
        let taken = self.reached.clone();
        (self.reached.transactions, self.reached.rows) = (0, 0);
        taken
    }
}
