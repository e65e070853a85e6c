//! A service's connections to its Postgres schema, with a span and a time limit around every statement.
//!
//! Invariant: a running service waits for no statement longer than [`STATEMENT_LIMIT`]; a database that stands still is
//! an error.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use deadpool_postgres::{GenericClient, Manager, Object, Pool, Runtime, Timeouts, Transaction};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};
use tracing::{Span, info_span, warn};

use crate::traced::Traced as _;

/// How long an answer, or a free connection, is waited for. Above the server's own limit: a server that still works
/// ends the statement and its locks itself, this one is for a server that has stopped or is out of reach.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(4);

/// The server's limit, in Postgres' notation.
const SERVER_LIMIT: &str = "3s";

/// How long a starting service waits for its database to come up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Enough for a few requests at once; a pool far larger than the database's cores only moves the queue.
const CONNECTIONS: usize = 8;

/// The values of a statement's parameters.
pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A bounded pool of connections whose search path is the service's schema. Cheap to clone.
#[derive(Clone)]
pub struct Database {
    pool: Pool,
}

impl Database {
    /// Connects, and creates what `tables_sql` describes; it must be harmless to run again.
    ///
    /// # Errors
    /// When the URL is malformed, the database does not come up within a minute, or refuses the statements.
    pub async fn open(url: &str, schema: &str, tables_sql: &str) -> Result<Database> {
        let mut config: Config = url.parse().context("DATABASE_URL is malformed")?;
        // The last one: "already exists, skipping" at every start is not worth a log line.
        let options =
            format!("-c search_path={schema} -c statement_timeout={SERVER_LIMIT} -c client_min_messages=warning");
        config.options(options).application_name(schema).connect_timeout(STATEMENT_LIMIT);
        let pool = Pool::builder(Manager::new(config, NoTls))
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: Some(STATEMENT_LIMIT),
                create: Some(STATEMENT_LIMIT),
                recycle: Some(STATEMENT_LIMIT),
            })
            .build()?;
        let database = Database { pool };
        database
            .create_tables(schema, tables_sql)
            .await
            .with_context(|| format!("creating the tables of schema {schema}"))?;
        Ok(database)
    }

    /// A connection, back in the pool when dropped.
    ///
    /// # Errors
    /// When none becomes free or can be opened within [`STATEMENT_LIMIT`].
    pub async fn connection(&self) -> Result<Object> {
        self.pool.get().await.context("no connection to the database")
    }

    /// Outside of any trace: this is nobody's request.
    async fn create_tables(&self, schema: &str, tables_sql: &str) -> Result<()> {
        let mut connection = self.first_connection().await?;
        let transaction = connection.transaction().await?;
        // Two instances at once would trip over each other's CREATE … IF NOT EXISTS.
        transaction.execute("SELECT pg_advisory_xact_lock(hashtext($1))", &[&schema]).await?;
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

/// Begins a transaction; dropping it rolls it back.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn begin(connection: &mut Object) -> Result<Transaction<'_>> {
    in_time(connection.transaction()).traced(statement_span("BEGIN")).await
}

/// Makes a transaction's changes durable.
///
/// # Errors
/// When the database refuses or does not answer in time: then it is unknown whether the changes were made.
pub async fn commit(transaction: Transaction<'_>) -> Result<()> {
    in_time(transaction.commit()).traced(statement_span("COMMIT")).await
}

/// Runs one statement; answers how many rows it changed.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn execute(client: &impl GenericClient, sql: &str, parameters: Parameters<'_>) -> Result<u64> {
    let statement = async { client.execute(&client.prepare_cached(sql).await?, parameters).await };
    in_time(statement).traced(statement_span(sql)).await
}

/// Runs one query; answers its only row, if there is one.
///
/// # Errors
/// When the database refuses, does not answer in time, or finds several rows.
pub async fn query_opt(client: &impl GenericClient, sql: &str, parameters: Parameters<'_>) -> Result<Option<Row>> {
    let query = async { client.query_opt(&client.prepare_cached(sql).await?, parameters).await };
    in_time(query).traced(statement_span(sql)).await
}

async fn in_time<T>(statement: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
    let outcome = timeout(STATEMENT_LIMIT, statement).await;
    Ok(outcome.map_err(|_| anyhow!("timeout: the database has not answered within {STATEMENT_LIMIT:?}"))??)
}

fn statement_span(sql: &str) -> Span {
    info_span!(
        "statement",
        otel.name = summary(sql),
        otel.kind = "client",
        db.system.name = "postgresql",
        db.query.text = sql,
    )
}

/// Operation and table, as the semantic conventions name a database span: `INSERT outbox`.
fn summary(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let operation = words.first().copied().unwrap_or_default().to_ascii_uppercase();
    let table =
        words.windows(2).find(|pair| ["INTO", "FROM", "UPDATE"].contains(&pair[0].to_ascii_uppercase().as_str()));
    match table {
        Some(pair) => format!("{operation} {}", pair[1]),
        None => operation,
    }
}

#[cfg(test)]
mod tests;
