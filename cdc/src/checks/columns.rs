//! Whether the tables have the columns that the router's options name, and of types that will do.

use tokio_postgres::Client;

use super::CheckFailure;
use crate::control::ControlError;
use crate::outbox::Source;
use crate::pgoutput::{Column, Relation};
use crate::quoting::TableName;
use crate::router::{Router, RouterOptions};

/// `bigint`, `timestamp`, `timestamptz` (pg_type.dat): what a record's timestamp can be made of.
const TIMESTAMP_TYPES: [u32; 3] = [20, 1114, 1184];
/// `json`, `text`, `varchar`, `jsonb`, `bytea`: what a payload is.
const PAYLOAD_TYPES: [u32; 5] = [17, 25, 114, 1043, 3802];
/// `char`, `varchar`: text with a length.
const SHORT_TYPES: [u32; 2] = [1042, 1043];

/// One column as the catalog has it.
struct Described {
    name: String,
    type_id: u32,
    type_name: String,
    /// `atttypmod`: a length or a number of digits; -1 without one.
    type_modifier: i32,
}

/// Checks the tables that exist; `warnings` get what works for now.
pub(super) async fn check(
    client: &Client,
    source: &Source,
    options: &RouterOptions,
    failures: &mut Vec<CheckFailure>,
    warnings: &mut Vec<String>,
) -> Result<(), ControlError> {
    let Ok(router) = Router::new(options.clone()) else { return Ok(()) };
    for table in &source.tables {
        let columns = published(client, &source.publication, table).await?;
        if columns.is_empty() {
            continue;
        }
        if let Err(error) = router.layout(&relation_of(table, &columns)) {
            failures.push(error.into());
        }
        types(table, &columns, options, failures, warnings);
    }
    Ok(())
}

/// The table as the stream would describe it; without columns if there is no such table.
pub(crate) async fn relation(client: &Client, publication: &str, table: &TableName) -> Result<Relation, ControlError> {
    Ok(relation_of(table, &published(client, publication, table).await?))
}

fn relation_of(table: &TableName, columns: &[Described]) -> Relation {
    let described = |column: &Described| {
        let Described { type_id, type_modifier, .. } = *column;
        Column { name: column.name.clone(), type_id, type_modifier }
    };
    let columns = columns.iter().map(described).collect();
    Relation { id: 0, schema: table.schema.clone(), name: table.name.clone(), columns }
}

fn types(
    table: &TableName,
    columns: &[Described],
    options: &RouterOptions,
    failures: &mut Vec<CheckFailure>,
    warnings: &mut Vec<String>,
) {
    let find = |name: &str| columns.iter().find(|column| column.name == name);
    let timestamp = options.event_timestamp.as_deref().and_then(find);
    if let Some(column) = timestamp.filter(|column| !TIMESTAMP_TYPES.contains(&column.type_id)) {
        failures.push(CheckFailure::ColumnType {
            table: table.clone(),
            column: column.name.clone(),
            found: column.type_name.clone(),
            option: "table.field.event.timestamp",
            expected: "timestamptz, timestamp or bigint (milliseconds)",
        });
    }
    let payload = find(&options.event_payload);
    if let Some(column) = payload.filter(|column| !PAYLOAD_TYPES.contains(&column.type_id)) {
        warnings.push(format!(
            "column {} of table {table} is {}: a payload is jsonb, json, text or bytea; this is sent as Postgres prints it",
            column.name, column.type_name
        ));
    }
    let context = find(&options.span_context);
    if let Some(column) = context.filter(|column| column.type_modifier != -1 && SHORT_TYPES.contains(&column.type_id)) {
        warnings.push(format!(
            "column {name} of table {table} is {}: a tracestate can be longer, and then the insert fails: run `ALTER TABLE {} ALTER COLUMN {} TYPE text`",
            column.type_name,
            table.quoted(),
            crate::quoting::identifier(&column.name),
            name = column.name,
        ));
    }
}

/// The table's columns that the publication sends: not generated ones, and of a column list only those in it
/// (PostgreSQL 15 and later).
async fn published(client: &Client, publication: &str, table: &TableName) -> Result<Vec<Described>, ControlError> {
    let query = "select a.attname::text, a.atttypid, format_type(a.atttypid, a.atttypmod), a.atttypmod
        from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
          and coalesce((select to_jsonb(t)->'attnames' ? a.attname::text from pg_publication_tables t
                        where t.pubname = $3 and t.schemaname = $1 and t.tablename = $2), true)
        order by a.attnum";
    let rows = client.query(query, &[&table.schema, &table.name, &publication]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Described {
            name: row.try_get(0)?,
            type_id: row.try_get(1)?,
            type_name: row.try_get(2)?,
            type_modifier: row.try_get(3)?,
        })
    };
    rows.iter().map(read).collect()
}
