//! Statements, each with a span of its own and a limit to how long its answer is waited for.

use anyhow::Result;
use deadpool_postgres::{GenericClient, Object, Transaction};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use tracing::{Span, info_span};

use super::{NoAnswer, STATEMENT_LIMIT};
use crate::traced::Traced as _;

/// The values of a statement's parameters.
pub type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Begins a transaction; dropping it rolls it back.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn begin(connection: &mut Object) -> Result<Transaction<'_>> {
    traced_statement("BEGIN", connection.transaction()).await
}

/// Makes a transaction's changes durable.
///
/// # Errors
/// When the database refuses or does not answer in time: then it is unknown whether the changes were made.
pub async fn commit(transaction: Transaction<'_>) -> Result<()> {
    traced_statement("COMMIT", transaction.commit()).await
}

/// Runs one statement; answers how many rows it changed.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn execute(client: &impl GenericClient, sql: &str, parameters: Parameters<'_>) -> Result<u64> {
    let statement = async { client.execute(&client.prepare_cached(sql).await?, parameters).await };
    traced_statement(sql, statement).await
}

/// Runs one query; answers its only row, if there is one.
///
/// # Errors
/// When the database refuses, does not answer in time, or finds several rows.
pub async fn query_opt(client: &impl GenericClient, sql: &str, parameters: Parameters<'_>) -> Result<Option<Row>> {
    let query = async { client.query_opt(&client.prepare_cached(sql).await?, parameters).await };
    traced_statement(sql, query).await
}

/// Runs one query; answers its rows. The query bounds how many there can be.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn query(client: &impl GenericClient, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>> {
    let query = async { client.query(&client.prepare_cached(sql).await?, parameters).await };
    traced_statement(sql, query).await
}

/// Waits for a statement's answer, in a span that shows `sql`.
///
/// # Errors
/// The statement's own, or [`NoAnswer`].
pub async fn traced_statement<T, E>(sql: &str, statement: impl Future<Output = Result<T, E>>) -> Result<T>
where
    E: Into<anyhow::Error>,
{
    let in_time = async {
        match timeout(STATEMENT_LIMIT, statement).await {
            Ok(outcome) => outcome.map_err(Into::into),
            Err(_) => Err(anyhow::Error::new(NoAnswer(STATEMENT_LIMIT))),
        }
    };
    in_time.traced(statement_span(sql)).await
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
pub(super) fn summary(sql: &str) -> String {
    let words: Vec<&str> = sql.split_whitespace().map(|word| word.trim_start_matches('(')).collect();
    let operation = words.first().copied().unwrap_or_default().to_ascii_uppercase();
    let table =
        words.windows(2).find(|pair| ["INTO", "FROM", "UPDATE"].contains(&pair[0].to_ascii_uppercase().as_str()));
    match table {
        Some(pair) => format!("{operation} {}", pair[1]),
        None => operation,
    }
}
