//! When a row was written: a column of its own, or the time of its commit where the server keeps that.

use thiserror::Error;
use tokio_postgres::Client;

use crate::control::ControlError;
use crate::quoting::{TableName, identifier};
use crate::router::RouterOptions;

/// The column that `outbox init` makes.
const DEFAULT_COLUMN: &str = "created_at";

/// An SQL expression over a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowTime {
    /// Its text, of type `timestamptz`; NULL where the time is not known.
    pub(super) expression: String,
    /// The column it reads, if it reads one.
    pub(super) column: Option<String>,
}

/// Nothing says when the table's rows were written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "nothing says when the rows of {table} were written: add a column (ALTER TABLE {quoted} ADD COLUMN created_at timestamptz NOT NULL DEFAULT now()), name one with table.field.event.timestamp, or set track_commit_timestamp = on, restart Postgres, and wait for the rows from then on",
    quoted = table.quoted()
)]
pub struct NoRowTime {
    table: TableName,
}

/// How to tell; the outer error is the database's.
pub(super) async fn of_table(
    client: &Client,
    table: &TableName,
    options: &RouterOptions,
) -> Result<Result<RowTime, NoRowTime>, ControlError> {
    let query = "select a.atttypid = 'timestamptz'::regtype from pg_attribute a
        join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = $2 and a.attname = $3 and not a.attisdropped
          and a.atttypid in ('timestamptz'::regtype, 'timestamp'::regtype)";
    for column in options.event_timestamp.iter().map(String::as_str).chain([DEFAULT_COLUMN]) {
        let Some(row) = client.query_opt(query, &[&table.schema, &table.name, &column]).await? else { continue };
        let name = identifier(column);
        // A time without a zone is UTC, as the router takes it.
        let expression = if row.try_get(0)? { name } else { format!("{name} at time zone 'UTC'") };
        return Ok(Ok(RowTime { expression, column: Some(column.to_owned()) }));
    }
    let is_tracked = "select current_setting('track_commit_timestamp') = 'on'";
    Ok(match client.query_one(is_tracked, &[]).await?.try_get(0)? {
        true => Ok(RowTime { expression: "pg_xact_commit_timestamp(xmin)".to_owned(), column: None }),
        false => Err(NoRowTime { table: table.clone() }),
    })
}
