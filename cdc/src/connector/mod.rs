//! The connector: session → decoder → router → publisher, and positions back.
//!
//! ```text
//!   open a session ──▶ connect a publisher ──▶ stream ──▶ (cancelled: settle, confirm, leave)
//!      ▲  ▲                                     │  │
//!      │  └── Postgres is gone: settle ─────────┘  │
//!      └───── the broker is gone: drop both ───────┘
//! ```
//!
//! At least once: the slot's position follows the broker's acknowledgements ([`in_flight`]), so whatever ends, the
//! next session begins at a row not known to be stored. When a record cannot be delivered, the publisher is dropped
//! with everything it has queued and the stream starts over from the confirmed position: no later record overtakes
//! an earlier one of its partition for good.

mod in_flight;
mod relay;
mod row;
mod run;
mod stream;
mod tables;
#[cfg(test)]
mod tests;
mod waiting;

use std::error::Error;
use std::sync::Arc;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::checks::CheckFailure;
use crate::config::{ConfigError, ConnectorConfig};
use crate::publish::{Cluster, KafkaCluster, PublishError};
use crate::replication::pgwire::PostgresSource;
use crate::router::LayoutError;

pub use row::RowPosition;

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
        let source = PostgresSource {
            url: config.postgres.clone(),
            source: config.source(),
            auto_init: config.auto_init,
            row_bytes_max: config.row_bytes_max,
        };
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
