//! The connector: session → decoder → router → publisher, and positions back.
//!
//! ```text
//!   open a session ──▶ connect a publisher ──▶ stream ──▶ (cancelled: settle, confirm, leave)
//!      ▲  ▲                                     │  │
//!      │  └── Postgres is gone: settle ─────────┘  │
//!      └───── the broker is gone: drop both ───────┘
//! ```
//!
//! Exactly once: what is sent is committed together with how far it reaches ([`unit`], [`crate::progress`]), and what a
//! new session repeats is passed over. At least once: the slot's position follows the broker's acknowledgements, so
//! whatever ends, the next session begins at a row not known to be stored. Either way the slot is told after the fact
//! ([`in_flight`]), and when a record cannot be delivered the publisher is dropped with everything it has queued and
//! the stream starts over: no later record overtakes an earlier one of its partition for good.

mod in_flight;
mod leaving;
mod opening;
mod refusals;
mod relay;
mod row;
mod rows;
mod run;
mod stream;
mod tables;
#[cfg(test)]
mod tests;
mod unit;
mod waiting;

use std::error::Error;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::checks::CheckFailure;
use crate::config::{ConfigError, ConnectorConfig, SnapshotMode, SourceMode};
use crate::polling::{Options, PollingSource};
use crate::progress::StartError;
use crate::publish::{Cluster, KafkaCluster, PublishError};
use crate::replication::pgwire::PostgresSource;
use crate::router::LayoutError;
use crate::snapshot::SnapshotSource;

pub use row::RowPosition;
pub(crate) use unit::Reached;

/// Why a connector cannot go on. Whatever may pass by itself is waited for instead.
#[derive(Debug, Error)]
pub enum ConnectorError {
    /// The configuration.
    #[error("the connector's configuration cannot be used: {}", list(.0))]
    Config(Vec<ConfigError>),
    /// The database is not set up for it.
    #[error("the database is not ready: {}", list(.0))]
    Checks(Vec<CheckFailure>),
    /// Postgres says no for good.
    #[error("Postgres cannot be replicated from")]
    Postgres(#[source] Box<dyn Error + Send + Sync>),
    /// The broker says no for good.
    #[error("records cannot be published{}", at(.position.as_ref()))]
    Broker {
        /// The row it was about, or of a batch the first.
        position: Option<RowPosition>,
        /// Why.
        #[source]
        reason: PublishError,
    },
    /// A table of the publication does not look like an outbox.
    #[error(transparent)]
    Table(#[from] LayoutError),
    /// A row no record can be made of or that the broker refuses, and `on.error` is `stop`. Rows before it are
    /// published and confirmed.
    #[error("{position} cannot be published; correct what causes it, or leave such rows out with on.error=skip")]
    Row {
        /// Which.
        position: RowPosition,
        /// Why.
        #[source]
        reason: Box<dyn Error + Send + Sync>,
    },
    /// An UPDATE or TRUNCATE, and `table.op.invalid.behavior` is `fatal`.
    #[error(
        "{operation} on outbox table {table}: table.op.invalid.behavior is fatal; publish inserts only (ALTER PUBLICATION … SET (publish = 'insert'))"
    )]
    InvalidOperation {
        /// The table.
        table: Arc<str>,
        /// The SQL command.
        operation: &'static str,
    },
    /// Slot, server and progress contradict each other.
    #[error("the connector cannot tell where to begin: {0}")]
    Start(#[from] StartError),
    /// The last row that was published is another one now.
    #[error(
        "{position} was published with id {was}, and is {is} now: the database was restored or failed over to another history; if that is meant, start once with --accept-timeline after deleting the progress topic"
    )]
    OtherEvent {
        /// Which row.
        position: RowPosition,
        /// Its id as the progress record has it.
        was: String,
        /// Its id as Postgres sent it.
        is: String,
    },
    /// Postgres sent what it never should.
    #[error("unexpected message from Postgres: {0}")]
    Protocol(String),
}

/// The outbox connector.
#[derive(Debug, Clone, Copy)]
pub struct Connector;

impl Connector {
    /// Publishes to the cluster at `bootstrap_servers` what is committed to the outbox tables, until `cancelled`; then
    /// waits a few seconds at most for what is on its way, confirms it and leaves.
    ///
    /// # Errors
    /// [`ConnectorError`] for what does not pass by itself. A server that is away is waited for.
    pub async fn run(config: ConnectorConfig, cancelled: CancellationToken) -> Result<(), ConnectorError> {
        let cluster = KafkaCluster::new(&config);
        Connector::run_with(config, cluster, cancelled).await
    }

    /// [`run`](Self::run), publishing to `cluster` instead.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_with<C: Cluster>(
        config: ConnectorConfig,
        cluster: C,
        cancelled: CancellationToken,
    ) -> Result<(), ConnectorError> {
        config.validate().map_err(ConnectorError::Config)?;
        if config.source_options.mode == SourceMode::Polling {
            let source = PollingSource::new(&config);
            return run::run(config, source, cluster, cancelled).await;
        }
        let source = PostgresSource {
            url: config.postgres.clone(),
            source: config.source(),
            auto_init: config.auto_init,
            row_bytes_max: config.row_bytes_max,
        };
        if config.source_options.snapshot == SnapshotMode::Initial {
            let source = SnapshotSource { slot: source, options: Options::new(&config) };
            return run::run(config, source, cluster, cancelled).await;
        }
        run::run(config, source, cluster, cancelled).await
    }
}

fn at(position: Option<&RowPosition>) -> String {
    position.map_or_else(String::new, |position| format!(", from {position} on"))
}

fn list<E: Error>(errors: &[E]) -> String {
    let lines: Vec<String> = errors.iter().map(|error| format!("\n  - {}", crate::causes::text(error))).collect();
    lines.concat()
}
