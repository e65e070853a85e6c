//! Which row is meant, for messages, spans and the queue.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::lsn::Lsn;

/// A row's unique position: LSNs alone are not unique, for all rows of a transaction share its commit's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPosition {
    /// The table, schema-qualified, or `pg_logical_emit_message`.
    pub table: Arc<str>,
    /// Where the commit record of its transaction starts.
    pub commit_lsn: Lsn,
    /// Which outbox row of its transaction it is, from 1.
    pub ordinal: u64,
    /// The event's id as text, if it could be read.
    pub id: Option<Bytes>,
}

impl fmt::Display for RowPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} of the transaction at {} in {}", self.ordinal, self.commit_lsn, self.table)?;
        match &self.id {
            Some(id) => write!(f, " (id {})", String::from_utf8_lossy(&id[..id.len().min(100)])),
            None => Ok(()),
        }
    }
}
