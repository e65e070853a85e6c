//! The outbox connector: rows committed to an outbox table in Postgres become records in Kafka topics.
//!
//! ```text
//!  Postgres WAL ─▶ replication ─▶ pgoutput ─▶ router ─▶ connector ─▶ publish ─▶ any Kafka cluster
//!                      ▲                                   │
//!                      └────── confirmed position ◀────────┘   after the broker's acknowledgement
//! ```
//!
//! - [`pgoutput`] decodes and [`router`] routes: pure, no I/O, no clock.
//! - [`Connector::run`] streams until cancelled; [`Status`] shows how it is doing.
//! - [`outbox`] sets a database up, [`checks`] says what is missing and how to mend it.
//! - [`publish`] is the seam to the cluster; the only one outside of tests is our own Kafka client.
//!
//! Delivery is exactly once for readers of committed records: nothing committed is lost or repeated, nothing
//! uncommitted is published, one key stays in order. On request it is at least once: then the rows that were not
//! confirmed come again after a crash, recognisable by their header `id`.
//!
//! The crate `pgwire-replication` logs each lost connection as an error under its own target; a program that shows
//! this crate's logs, which say it once, switches that target off (`pgwire_replication=off`).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod causes;
pub mod checks;
mod config;
mod connector;
mod control;
mod lsn;
pub mod outbox;
pub mod pgoutput;
mod polling;
mod postgres_url;
mod progress;
pub mod publish;
mod quoting;
mod refusal;
mod replication;
pub mod router;
mod snapshot;
mod status;
mod stored;
mod tls;
mod topic_creation;

pub use config::{
    ConfigError, ConnectorConfig, Delivery, OnError, OnPartitionsChanged, SnapshotMode, SourceMode, SourceOptions,
};
pub use connector::{Connector, ConnectorError, RowPosition};
pub use control::ControlError;
pub use lsn::{Lsn, ParseLsnError};
pub use postgres_url::{PostgresUrl, PostgresUrlError};
pub use progress::{Progress, SourceName, StartError};
pub use quoting::{TableName, TableNameError};
pub use status::{Snapshot, State, Status};
pub use topic_creation::{TopicCreation, TopicCreationError, TopicSettings};
