//! What a table looks like, in the words of the stream of changes.

use thiserror::Error;
use tokio_postgres::{Client, SimpleQueryRow};

use super::rows::ask;
use crate::control::ControlError;
use crate::pgoutput::{Column, Relation};
use crate::quoting::{TableName, identifier, literal};

/// A table that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its description, with the columns that `pgoutput` sends: all but generated ones.
    pub(crate) relation: Relation,
}

/// A table cannot be read.
#[derive(Debug, Error)]
pub(crate) enum TableError {
    /// It is not there, or not a table.
    #[error("table {0} does not exist, or is not a table; run `pillion outbox init`, or correct table.include.list")]
    Missing(TableName),
    /// The catalog cannot be asked.
    #[error(transparent)]
    Control(#[from] ControlError),
}

impl From<tokio_postgres::Error> for TableError {
    fn from(error: tokio_postgres::Error) -> TableError {
        TableError::Control(error.into())
    }
}

/// Describes `tables`, in their order, as the client's transaction sees them.
///
/// # Errors
/// [`TableError`].
pub(crate) async fn describe(client: &Client, tables: &[TableName]) -> Result<Vec<Table>, TableError> {
    let names: Vec<String> =
        tables.iter().map(|table| format!("({}, {})", literal(&table.schema), literal(&table.name))).collect();
    let query = format!(
        "SELECT c.oid, n.nspname, c.relname, a.attname, a.atttypid, a.atttypmod
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE (n.nspname, c.relname) IN ({}) AND c.relkind IN ('r', 'p')
           AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         ORDER BY c.oid, a.attnum",
        names.join(", ")
    );
    let rows = ask(client, &query).await?;
    tables
        .iter()
        .map(|name| {
            let of_table = rows.iter().filter(|row| row.get(1) == Some(&name.schema) && row.get(2) == Some(&name.name));
            relation(name, of_table).map(|relation| Table { relation })
        })
        .collect()
}

fn relation<'r>(name: &TableName, rows: impl Iterator<Item = &'r SimpleQueryRow>) -> Result<Relation, TableError> {
    let mut id = None;
    let mut columns = Vec::new();
    for row in rows {
        id = Some(number(row, 0)?);
        let name = row.get(3).unwrap_or_default().to_owned();
        columns.push(Column { name, type_id: number(row, 4)?, type_modifier: number(row, 5)? });
    }
    let id = id.ok_or_else(|| TableError::Missing(name.clone()))?;
    Ok(Relation { id, schema: name.schema.clone(), name: name.name.clone(), columns })
}

fn number<N: std::str::FromStr>(row: &SimpleQueryRow, index: usize) -> Result<N, TableError> {
    let text = row.get(index).unwrap_or_default();
    text.parse().map_err(|_| ControlError::Answer(text.to_owned()).into())
}

impl Table {
    /// `"schema"."name"`.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", identifier(&self.relation.schema), identifier(&self.relation.name))
    }

    /// The index of a column.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.relation.columns.iter().position(|column| column.name == name)
    }

    /// Selects all columns of the rows that `condition` holds for, in the order of the SQL expressions `order` and,
    /// where those are equal, in the order the rows were written: `cmin` counts a transaction's statements, `ctid` says
    /// where a row lies.
    pub(crate) fn select(&self, condition: &str, order: &str) -> String {
        let columns: Vec<String> = self.relation.columns.iter().map(|column| identifier(&column.name)).collect();
        let comma = if order.is_empty() { "" } else { ", " };
        format!(
            "SELECT {} FROM {} WHERE {condition} ORDER BY {order}{comma}cmin::text::int8, tableoid, ctid",
            columns.join(", "),
            self.quoted()
        )
    }
}
