//! The stream of changes from Postgres, behind a trait with two implementations: Postgres itself ([`pgwire`]) and a
//! script that can fail at any point (tests).
//!
//! First stage of the connector. Invariant: nothing here decides what is confirmed; [`ReplicationSession::confirm`]
//! is told.

pub(crate) mod pgwire;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;
mod watchdog;

use std::future::Future;

use thiserror::Error;

use crate::checks::CheckFailure;
use crate::lsn::Lsn;
use crate::pgoutput::{DecodeError, Message};
use crate::progress::Progress;

/// Which server answers, and how far its log reaches (IDENTIFY_SYSTEM).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerIdentity {
    /// The cluster's unique identifier.
    pub(crate) system_id: String,
    /// Its timeline: one more after each failover.
    pub(crate) timeline: u32,
    /// How far its log is flushed.
    pub(crate) flush_lsn: Lsn,
    /// Where the slot stood when the session took it.
    pub(crate) slot: SlotPosition,
}

/// A replication slot, as its new owner found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SlotPosition {
    /// What it was told last (`confirmed_flush_lsn`): the stream begins behind it.
    pub(crate) confirmed: Lsn,
    /// Whether it stands where it was made, by someone who noted it down: nothing can have been taken from it.
    pub(crate) is_new: bool,
    /// Whether it is still to be made, once it is written down that the rows before it come first
    /// ([`crate::snapshot`]); `confirmed` is then where they begin.
    pub(crate) is_pending: bool,
}

/// What a session says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReplicationEvent {
    /// A message of the output plugin.
    Message(Message),
    /// Everything committed before `wal_end` has been sent.
    KeepAlive {
        /// How far the server has read its log for us.
        wal_end: Lsn,
        /// Whether the server waits to hear how far we are: it is shutting down, or about to give us up.
        is_urgent: bool,
    },
    /// From here on the progress record carries this ([`Progress::snapshot`](crate::progress::Progress::snapshot)).
    Snapshot(Option<String>),
}

/// Where an earlier session of this process got to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resume {
    /// Whom it spoke to.
    pub(crate) system_id: String,
    /// And on which timeline.
    pub(crate) timeline: u32,
    /// Everything before this was acknowledged by the broker.
    pub(crate) confirmed: Lsn,
}

impl Resume {
    /// The position to start at when `server` answers. Postgres may forget a slot's newest positions in a crash, so
    /// on the same server ours avoids repeating rows. On another server or timeline ours means nothing and would skip
    /// rows: there the slot's own position counts, which may repeat some.
    pub(crate) fn position(&self, server: &ServerIdentity) -> Lsn {
        let is_same = self.system_id == server.system_id && self.timeline == server.timeline;
        if is_same && self.confirmed <= server.flush_lsn { self.confirmed } else { Lsn::ZERO }
    }
}

/// A server to replicate from.
pub(crate) trait ReplicationSource: Send {
    /// Its sessions.
    type Session: ReplicationSession;

    /// Connects, asks who answers, and starts streaming at [`Resume::position`], or where the slot is. When this
    /// returns, the slot is held.
    ///
    /// # Errors
    /// [`ReplicationError`] says whether another try may help.
    fn open(
        &mut self,
        resume: Option<&Resume>,
    ) -> impl Future<Output = Result<(ServerIdentity, Self::Session), ReplicationError>> + Send;

    /// Returns once another try makes sense after [`ReplicationError::SlotBusy`]: nobody holds the slot, or that
    /// cannot be found out.
    fn until_free(&mut self) -> impl Future<Output = ()> + Send;
}

/// An open stream. Dropping it ends the connection.
pub(crate) trait ReplicationSession: Send {
    /// Told once, before the first [`next`](Self::next): what is published already. A stream goes by its slot and may
    /// repeat it.
    fn resume_at(&mut self, progress: &Progress);

    /// The next event; dropping the future loses none.
    ///
    /// # Errors
    /// The session is over. [`ReplicationError::Lost`] also when the server ended it in order.
    fn next(&mut self) -> impl Future<Output = Result<ReplicationEvent, ReplicationError>> + Send;

    /// Lets the server forget everything before `lsn`. Sent with the next status, within a second; a position before
    /// an earlier one changes nothing.
    fn confirm(&self, lsn: Lsn);

    /// How far the server's log reached when it last said so: for the lag.
    fn server_lsn(&self) -> Lsn;

    /// Sends what was confirmed and leaves in order, within a second or so.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A session could not be opened or is over.
#[derive(Debug, Error)]
pub(crate) enum ReplicationError {
    /// Worth another try: the server is away, restarting, or out of connections.
    #[error("no replication connection")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another connection holds the slot.
    #[error("the replication slot is in use: {reason}")]
    SlotBusy {
        /// The server's words.
        reason: String,
    },
    /// The server says no, and will say so again.
    #[error("Postgres refused replication: {reason}{hint}")]
    Refused {
        /// The server's words.
        reason: String,
        /// What to do, or nothing.
        hint: &'static str,
    },
    /// The database is not set up.
    #[error("the database is not ready")]
    NotReady(Vec<CheckFailure>),
    /// One row's message is larger than allowed.
    #[error(
        "a row of {bytes} bytes is larger than max.row.bytes ({limit}); raise it, or advance the slot past the row with pg_replication_slot_advance to lose it"
    )]
    RowTooLarge {
        /// The message's size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A message that is not `pgoutput`.
    #[error("a message from Postgres cannot be read")]
    Decode(#[from] DecodeError),
}

impl ReplicationError {
    /// Whether opening a new session may help.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(self, ReplicationError::Lost(_) | ReplicationError::SlotBusy { .. })
    }
}
