//! What `pgoutput` can say, as Rust values. Column values stay slices of the received message.

use bytes::Bytes;

use crate::lsn::Lsn;

/// One message of `pgoutput` protocol version 1. Times are microseconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A committed transaction's changes follow.
    Begin {
        /// Where its commit record starts: with the ordinal of a row the row's unique position.
        commit_lsn: Lsn,
        /// When it was committed.
        commit_time_micros: i64,
        /// Its transaction id.
        transaction_id: u32,
    },
    /// The transaction's changes are complete.
    Commit {
        /// Where its commit record starts.
        commit_lsn: Lsn,
        /// Where its commit record ends: the position to confirm once every change is durable elsewhere.
        end_lsn: Lsn,
        /// When it was committed.
        commit_time_micros: i64,
    },
    /// The transaction was replicated from another node.
    Origin {
        /// Its commit position there.
        commit_lsn: Lsn,
        /// The origin's name.
        name: String,
    },
    /// Columns of a table, sent before its first change and after each change of its definition.
    Relation(Relation),
    /// Name of a column's type that is not built in.
    Type {
        /// Its object id.
        id: u32,
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
    /// A new row.
    Insert {
        /// The table, as the last [`Message::Relation`] with this id described it.
        relation_id: u32,
        /// One value per column.
        row: Vec<Cell>,
    },
    /// A change an outbox does not have. The rows are checked and dropped.
    Other {
        /// What it is.
        operation: Operation,
        /// The tables it concerns; several only for a truncate.
        relation_ids: Vec<u32>,
    },
    /// `pg_logical_emit_message`.
    Emitted {
        /// Part of a transaction, as opposed to written on its own.
        transactional: bool,
        /// Where it lies in the log.
        lsn: Lsn,
        /// The first argument's text.
        prefix: String,
        /// The content, unchanged.
        content: Bytes,
    },
}

/// Changes that are recognised only to be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A row was changed.
    Update,
    /// A row was deleted.
    Delete,
    /// Tables were emptied.
    Truncate,
}

impl Operation {
    /// The SQL command's name.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Truncate => "TRUNCATE",
        }
    }
}

/// A table's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its object id, which later messages refer to.
    pub id: u32,
    /// Its schema; empty on the wire for `pg_catalog`, which is filled in here.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns, in the order of a row's values.
    pub columns: Vec<Column>,
}

/// One column of a [`Relation`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Object id of its type (`pg_type.oid`).
    pub type_id: u32,
    /// Its type's modifier (`pg_attribute.atttypmod`), a timestamp's digits for instance; -1 without one.
    pub type_modifier: i32,
}

/// One column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// SQL NULL.
    Null,
    /// A large value an update did not touch, and which is therefore not sent.
    Unchanged,
    /// The value as its type prints it, in the session's encoding (UTF-8).
    Text(Bytes),
    /// The value as its type's binary output; only when asked for, which we never do.
    Binary(Bytes),
}
