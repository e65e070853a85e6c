//! What can be wrong with a database, each with its fix.

use thiserror::Error;

use super::Check;
use crate::quoting::TableName;
use crate::router::LayoutError;

/// One thing that is not as it must be. The message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckFailure {
    /// The server does not write what logical decoding needs.
    #[error(
        "wal_level is {found}: run `ALTER SYSTEM SET wal_level = logical` and restart Postgres (on RDS and Aurora: rds.logical_replication = 1, on Cloud SQL: cloudsql.logical_decoding = on)"
    )]
    WalLevel {
        /// Its value.
        found: String,
    },
    /// The role may not replicate.
    #[error(
        "role {role} may not replicate: run `ALTER ROLE {quoted} REPLICATION` as a superuser (on Cloud SQL as a member of cloudsqlsuperuser, on Azure of azure_pg_admin; on RDS and Aurora: `GRANT rds_replication TO {quoted}`)",
        quoted = crate::quoting::identifier(role)
    )]
    Role {
        /// The connector's role.
        role: String,
    },
    /// There is no such publication.
    #[error(
        "publication {name} does not exist: run `pillion outbox init`, or name the right one; rows committed while it was gone may be missing in the stream, `pillion outbox republish` publishes them"
    )]
    NoPublication {
        /// Its name.
        name: String,
    },
    /// It does not publish inserts.
    #[error("publication {name} leaves out inserts: run `ALTER PUBLICATION {quoted} SET (publish = 'insert')`", quoted = crate::quoting::identifier(name))]
    NoInserts {
        /// Its name.
        name: String,
    },
    /// A table does not exist.
    #[error("table {table} does not exist: run `pillion outbox init`, or name the right one")]
    NoTable {
        /// Its name.
        table: TableName,
    },
    /// A table exists, and the publication leaves it out.
    #[error(
        "table {table} is not in publication {publication}: run `ALTER PUBLICATION {quoted} ADD TABLE {quoted_table}`; rows committed while it was not are published by `pillion outbox republish`",
        quoted = crate::quoting::identifier(publication),
        quoted_table = table.quoted()
    )]
    NotPublished {
        /// Its name.
        table: TableName,
        /// The publication.
        publication: String,
    },
    /// A partitioned table's rows would come under the names of its partitions.
    #[error(
        "table {table} is partitioned and publication {publication} names its partitions: run `ALTER PUBLICATION {quoted} SET (publish_via_partition_root = true)`",
        quoted = crate::quoting::identifier(publication)
    )]
    NotViaRoot {
        /// Its name.
        table: TableName,
        /// The publication.
        publication: String,
    },
    /// There is no such slot.
    #[error(
        "replication slot {name} does not exist: run `pillion outbox init`; rows committed before the slot is made are not published"
    )]
    NoSlot {
        /// Its name.
        name: String,
    },
    /// The slot is for something else.
    #[error("replication slot {name} is {found}, not a pgoutput slot of database {database}: name another slot")]
    OtherSlot {
        /// Its name.
        name: String,
        /// What it is.
        found: String,
        /// The connector's database.
        database: String,
    },
    /// Postgres gave the slot up.
    #[error(
        "replication slot {name} is invalidated ({cause}). Rows committed since {confirmed} are not in the stream any more: drop the slot with `SELECT pg_drop_replication_slot({quoted})`, run `pillion outbox init`, publish what consumers miss with `pillion outbox republish --from {confirmed}`, and start once with --adopt-slot",
        quoted = crate::quoting::literal(name)
    )]
    SlotInvalidated {
        /// Its name.
        name: String,
        /// What Postgres did it for, and the setting behind it.
        cause: String,
        /// Its confirmed position, as Postgres prints it.
        confirmed: String,
    },
    /// A standby's copy of a slot.
    #[error(
        "replication slot {name} is the copy that a standby keeps of its primary's: connect to the primary, or promote this server first"
    )]
    SlotSynced {
        /// Its name.
        name: String,
    },
    /// Every replication slot the server may have is taken.
    #[error(
        "all {limit} replication slots of the server are taken: raise max_replication_slots and restart Postgres, or drop one that nobody uses (SELECT slot_name FROM pg_replication_slots WHERE NOT active)"
    )]
    NoFreeSlot {
        /// `max_replication_slots`.
        limit: i64,
    },
    /// Every replication session the server may have is taken.
    #[error(
        "all {limit} replication sessions of the server are taken: raise max_wal_senders and restart Postgres, or end one (pg_stat_replication)"
    )]
    NoFreeSender {
        /// `max_wal_senders`.
        limit: i64,
    },
    /// A standby that cannot decode.
    #[error(
        "the server is a standby of PostgreSQL {version}, which decodes nothing: connect to the primary (standbys can from version 16 on)"
    )]
    Standby {
        /// Its major version.
        version: i32,
    },
    /// A table lacks a column that the router's options name, or does not publish it.
    #[error(transparent)]
    Column(#[from] LayoutError),
    /// A column of a type that cannot be what an option says it is.
    #[error("column {column} of table {table} is {found}, and {option} names it: expected {expected}")]
    ColumnType {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// Its type, as Postgres prints it.
        found: String,
        /// The option.
        option: &'static str,
        /// What it may be.
        expected: &'static str,
    },
}

impl CheckFailure {
    /// Which check it fails.
    pub fn check(&self) -> Check {
        match self {
            CheckFailure::WalLevel { .. } | CheckFailure::Standby { .. } => Check::Server,
            CheckFailure::Role { .. } => Check::Role,
            CheckFailure::NoFreeSlot { .. } | CheckFailure::NoFreeSender { .. } => Check::Capacity,
            CheckFailure::NoPublication { .. } | CheckFailure::NoInserts { .. } => Check::Publication,
            CheckFailure::NoTable { .. } | CheckFailure::NotPublished { .. } | CheckFailure::NotViaRoot { .. } => {
                Check::Tables
            }
            CheckFailure::Column(_) | CheckFailure::ColumnType { .. } => Check::Columns,
            CheckFailure::NoSlot { .. }
            | CheckFailure::OtherSlot { .. }
            | CheckFailure::SlotInvalidated { .. }
            | CheckFailure::SlotSynced { .. } => Check::Slot,
        }
    }
}
