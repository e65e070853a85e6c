//! Dead letters read back, and their rows written to the outbox again once they are mended.
//!
//! A row is written as a service would write it: it goes through the log, the router and the rules of delivery like any
//! other, with the id it had. Postgres itself reads the columns' texts, each cast to its column's type: a JSON column's
//! text is parsed, which `jsonb_populate_record` would take for a JSON string. What is still in the table under the same
//! id is replaced in the same transaction.
//!
//! **Invariant:** a dead letter is a record, and records come from anyone: rows are written to the connector's own
//! outbox tables only.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio_postgres::Client;

use crate::config::ConnectorConfig;
use crate::control::{Control, ControlError};
use crate::quoting::{identifier, literal};

#[cfg(test)]
mod tests;

/// What `pg_logical_emit_message` is called in place of a table.
const EMITTED: &str = "pg_logical_emit_message";

/// A dead letter's value: see [`crate::router`] for how it is written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeadLetter {
    /// Why the row was not published.
    pub reason: String,
    /// The row's table, or `pg_logical_emit_message`.
    pub table: String,
    /// Where the commit record of its transaction starts, as `0/1A2B3C8`.
    #[serde(rename = "commitLsn")]
    pub commit_lsn: String,
    /// Which outbox row of its transaction it is, from 1.
    pub ordinal: u64,
    /// The row's columns with Postgres' text of each.
    pub row: Option<Map<String, Value>>,
    /// In place of a row, what was emitted.
    pub message: Option<Emitted>,
    /// Columns whose values were cut.
    #[serde(default)]
    pub truncated: Vec<String>,
}

/// What was emitted by `pg_logical_emit_message`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Emitted {
    /// Its content as text.
    pub content: String,
}

/// A dead letter whose row is not written again.
#[derive(Debug, Error)]
pub enum WriteBackError {
    /// The record is no dead letter.
    #[error("the record is no dead letter of the connector's")]
    NotADeadLetter(#[from] serde_json::Error),
    /// It has neither a row nor a message.
    #[error("the dead letter has no row")]
    NoRow,
    /// Its table is not one of the connector's.
    #[error("{0} is none of the connector's tables (table.include.list)")]
    ForeignTable(String),
    /// Parts of it were cut when it was written.
    #[error("{} of the row {}; give the whole value with --column NAME=VALUE", .0.join(", "), if .0.len() == 1 { "was cut" } else { "were cut" })]
    Truncated(Vec<String>),
    /// A column that the row does not have.
    #[error("the row has no column {0}")]
    NoColumn(String),
    /// The database.
    #[error(transparent)]
    Control(#[from] ControlError),
}

impl From<tokio_postgres::Error> for WriteBackError {
    fn from(error: tokio_postgres::Error) -> WriteBackError {
        WriteBackError::Control(error.into())
    }
}

impl DeadLetter {
    /// Reads a record's value.
    ///
    /// # Errors
    /// [`WriteBackError::NotADeadLetter`].
    pub fn read(value: &[u8]) -> Result<DeadLetter, WriteBackError> {
        Ok(serde_json::from_slice(value)?)
    }

    /// Puts other values into columns; `None` is null.
    ///
    /// # Errors
    /// [`WriteBackError::NoColumn`].
    pub fn mend(&mut self, column: &str, value: Option<&str>) -> Result<(), WriteBackError> {
        let no_column = || WriteBackError::NoColumn(column.to_owned());
        let place = self.row.as_mut().and_then(|row| row.get_mut(column)).ok_or_else(no_column)?;
        *place = value.map_or(Value::Null, Value::from);
        self.truncated.retain(|cut| cut != column);
        Ok(())
    }
}

/// Writes a dead letter's row to its table again, in place of what stands there under its id; a message is emitted
/// again. Says whether something was replaced. Needs INSERT and DELETE on the table.
///
/// # Errors
/// [`WriteBackError`]; nothing is written then.
pub async fn write_back(config: &ConnectorConfig, letter: &DeadLetter) -> Result<bool, WriteBackError> {
    if !letter.truncated.is_empty() {
        return Err(WriteBackError::Truncated(letter.truncated.clone()));
    }
    let control = Control::connect(&config.postgres).await?;
    if let Some(emitted) = letter.message.as_ref().filter(|_| letter.table == EMITTED) {
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&config.message_prefix, &emitted.content];
        control.client().query_one("select pg_logical_emit_message(true, $1, $2)::text", &parameters).await?;
        return Ok(false);
    }
    let row = letter.row.as_ref().filter(|row| !row.is_empty()).ok_or(WriteBackError::NoRow)?;
    let table = config.tables.iter().find(|table| table.to_string() == letter.table);
    let table = table.ok_or_else(|| WriteBackError::ForeignTable(letter.table.clone()))?.quoted();
    let client = control.client();
    let types = column_types(client, &table).await?;
    let (delete, insert) = statements(&table, &config.router.event_id, row, &types)?;
    let document = Value::Object(row.clone()).to_string();
    client.batch_execute("begin").await?;
    let replaced = client.execute(&delete, &[&document]).await?;
    client.execute(&insert, &[&document]).await?;
    client.batch_execute("commit").await?;
    Ok(replaced > 0)
}

/// Each column's type as SQL writes it, by its name.
async fn column_types(client: &Client, table: &str) -> Result<HashMap<String, String>, WriteBackError> {
    let query = "select attname::text, format_type(atttypid, atttypmod) from pg_attribute
        where attrelid = $1::text::regclass and attnum > 0 and not attisdropped";
    let rows = client.query(query, &[&table]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// DELETE and INSERT, each with the row as its one parameter.
fn statements(
    table: &str,
    id: &str,
    row: &Map<String, Value>,
    types: &HashMap<String, String>,
) -> Result<(String, String), WriteBackError> {
    let value = |name: &str| {
        let kind = types.get(name).ok_or_else(|| WriteBackError::NoColumn(name.to_owned()))?;
        Ok::<_, WriteBackError>(format!("($1::text::jsonb ->> {})::{kind}", literal(name)))
    };
    let columns: Vec<String> = row.keys().map(|name| identifier(name)).collect();
    let values = row.keys().map(|name| value(name)).collect::<Result<Vec<_>, _>>()?;
    let (columns, values) = (columns.join(", "), values.join(", "));
    Ok((
        format!("delete from {table} where {} = {}", identifier(id), value(id)?),
        format!("insert into {table} ({columns}) overriding system value values ({values})"),
    ))
}
