//! A service's own Postgres: a bounded pool of connections, and tables that are there before the first request.
//!
//! Invariant: a running service waits for no connection and no statement longer than [`STATEMENT_LIMIT`]; a database
//! that stands still is an error.

mod errors;
mod statements;

use std::time::Duration;

use anyhow::{Context as _, Result};
use deadpool_postgres::{Manager, Object, Pool, Runtime, Timeouts};
use tokio::time::{Instant, sleep};
use tokio_postgres::{Config, NoTls};
use tracing::warn;

use crate::settings::Settings;

pub use errors::{Conflict, NoAnswer, is_passing};
pub use statements::{Parameters, begin, commit, execute, query, query_opt, traced_statement};

/// How long an answer, or a free connection, is waited for. Above the server's own limit: a server that still works
/// ends the statement and its locks itself, this one is for a server that has stopped or is out of reach.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(4);

/// The server's limit, in Postgres' notation.
const SERVER_LIMIT: &str = "3s";

/// How long a starting service waits for its database to come up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Connections beside those of the workers: a few requests and a timer at once. A pool far larger than the database's
/// cores only moves the queue.
const CONNECTIONS_BESIDE_WORKERS: usize = 6;

/// Outbox, inbox and parked records: the same in every service.
const MESSAGING_TABLES: &str = include_str!("../sql/messaging.sql");

/// A bounded pool of connections to the service's database. Cheap to clone.
#[derive(Clone)]
pub struct Database {
    pool: Pool,
}

impl Database {
    /// Connects, and creates outbox, inbox and what `tables_sql` describes; it must be harmless to run again. `name`
    /// is what the server calls the connections.
    ///
    /// # Errors
    /// When the URL is missing or malformed, the database does not come up within a minute, or refuses the statements.
    pub async fn open(settings: &Settings, name: &str, tables_sql: &str) -> Result<Database> {
        let database = Database::connect(settings, name)?;
        let schema = &settings.database_schema;
        let tables = format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n{MESSAGING_TABLES}\n{tables_sql}");
        database.create_tables(name, &tables).await.with_context(|| format!("creating the tables of {name}"))?;
        Ok(database)
    }

    /// The same for a database whose tables are somebody else's; the first connection is made when it is needed.
    ///
    /// # Errors
    /// When the URL is missing or malformed.
    pub fn connect(settings: &Settings, name: &str) -> Result<Database> {
        let mut config: Config = settings.required_database_url()?.parse().context("DATABASE_URL is malformed")?;
        let schema = &settings.database_schema;
        // The last one: "already exists, skipping" at every start is not worth a log line.
        let options =
            format!("-c search_path={schema} -c statement_timeout={SERVER_LIMIT} -c client_min_messages=warning");
        config.options(options).application_name(name).connect_timeout(STATEMENT_LIMIT);
        let pool = Pool::builder(Manager::new(config, NoTls))
            .max_size(settings.workers + CONNECTIONS_BESIDE_WORKERS)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: Some(STATEMENT_LIMIT),
                create: Some(STATEMENT_LIMIT),
                recycle: Some(STATEMENT_LIMIT),
            })
            .build()?;
        Ok(Database { pool })
    }

    /// A connection, back in the pool when dropped.
    ///
    /// # Errors
    /// When none becomes free or can be opened within [`STATEMENT_LIMIT`].
    pub async fn connection(&self) -> Result<Object> {
        self.pool.get().await.context("no connection to the database")
    }

    /// Outside of any trace: this is nobody's request.
    async fn create_tables(&self, name: &str, tables_sql: &str) -> Result<()> {
        let mut connection = self.first_connection().await?;
        let transaction = connection.transaction().await?;
        // Two instances at once would trip over each other's CREATE … IF NOT EXISTS.
        transaction.execute("SELECT pg_advisory_xact_lock(hashtext($1))", &[&name]).await?;
        transaction.batch_execute(tables_sql).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn first_connection(&self) -> Result<Object> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            match self.connection().await {
                Err(error) if Instant::now() < deadline => warn!("waiting for the database: {error:#}"),
                outcome => return outcome,
            }
            sleep(Duration::from_secs(1)).await;
        }
    }
}

#[cfg(test)]
mod tests;
