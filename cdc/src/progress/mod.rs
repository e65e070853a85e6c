//! How far a connector has published, kept in the cluster it publishes to: written in the same transaction as the
//! records it speaks of, so that both are there or neither is.
//!
//! A replication slot alone cannot say it: Postgres may forget a slot's newest position in a crash, and the slot is told
//! only after the records are stored. So each transaction carries a [`Progress`], a new session begins where the last
//! committed one ends, and [`start`] refuses to begin where the two contradict each other.
//!
//! Invariant: a slot is never confirmed beyond a committed progress record.

mod reading;
mod record;
mod start;

#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::lsn::Lsn;
use crate::replication::ServerIdentity;

pub(crate) use reading::{ReadingError, read};
pub(crate) use record::encode;
pub use start::StartError;
pub(crate) use start::{Choices, check};

/// Whose progress it is: one replication slot of one database cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceName {
    /// The database cluster's unique identifier (IDENTIFY_SYSTEM).
    pub system_id: String,
    /// The replication slot.
    pub slot: String,
}

impl SourceName {
    /// The producer's name in the cluster: who has the slot fences whoever had it before.
    pub fn transactional_id(&self) -> String {
        format!("pillion-{}-{}", self.system_id, self.slot)
    }

    /// The topic that holds its progress. Each slot has one of its own: an open transaction of another slot's would
    /// keep our last record from readers of committed ones.
    pub fn progress_topic(&self) -> String {
        format!("__pillion-progress-{}-{}", self.system_id, self.slot)
    }
}

/// How far the outbox has been published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The database cluster that the positions belong to.
    pub system_id: String,
    /// Its timeline: positions of another one may name other rows.
    pub timeline: u32,
    /// The transaction of the last row published, by where its commit record starts; zero when there was none.
    pub commit_lsn: Lsn,
    /// How many rows and messages of that transaction are published; the rest of it is not, unless it ends before
    /// `end_lsn`.
    pub ordinal: u64,
    /// Everything that was committed before this position is published: what the slot may be told.
    pub end_lsn: Lsn,
    /// The id of the last row published, as text, to recognise it by.
    pub last_event_id: Option<Bytes>,
    /// The snapshot (`pg_snapshot`) in which the rows that were there before the slot are read, until they are
    /// published; or which rows a polling connector has seen.
    pub snapshot: Option<String>,
}

impl Progress {
    /// Everything that was committed before `end_lsn` on this server, whatever it was.
    pub(crate) fn up_to(server: &ServerIdentity, end_lsn: Lsn) -> Progress {
        Progress {
            system_id: server.system_id.clone(),
            timeline: server.timeline,
            commit_lsn: Lsn::ZERO,
            ordinal: 0,
            end_lsn,
            last_event_id: None,
            snapshot: None,
        }
    }

    /// Whether row `ordinal` (from 1) of the transaction whose commit record starts at `commit_lsn` is published.
    pub fn covers(&self, commit_lsn: Lsn, ordinal: u64) -> bool {
        commit_lsn < self.end_lsn || (commit_lsn, ordinal) <= (self.commit_lsn, self.ordinal)
    }

    /// Whether it ends in the middle of a transaction.
    pub fn is_partial(&self) -> bool {
        self.commit_lsn >= self.end_lsn
    }
}
