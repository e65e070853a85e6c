//! What a database needs for its outbox: table, publication, slot and, if wanted, a role of least privilege.
//!
//! [`init_sql`] is what [`apply`] runs: what is printed is what happens. Each statement may be run again.

use crate::control::{Control, ControlError};
use crate::postgres_url::PostgresUrl;
use crate::quoting::{TableName, identifier, literal};

#[cfg(test)]
mod tests;

/// Where the connector's rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The outbox tables.
    pub tables: Vec<TableName>,
    /// The publication that contains them.
    pub publication: String,
    /// The replication slot, 1 to 63 of `a-z 0-9 _`.
    pub slot: String,
}

/// Statements that make what is missing of `source`, in order, each with a comment above it. With a `role`, it is
/// made and may do nothing but replicate. Each must be run by itself: Postgres makes no slot in a transaction that
/// has written.
pub fn init_statements(source: &Source, role: Option<&str>) -> Vec<String> {
    let mut statements = Vec::new();
    let mut schemas: Vec<&str> = source.tables.iter().map(|table| table.schema.as_str()).collect();
    schemas.sort_unstable();
    schemas.dedup();
    for schema in schemas.into_iter().filter(|schema| *schema != "public") {
        statements.push(create_schema(schema));
    }
    statements.extend(source.tables.iter().map(create_table));
    statements.push(create_publication(&source.publication));
    statements.extend(source.tables.iter().map(|table| add_to_publication(&source.publication, table)));
    if let Some(role) = role {
        statements.push(create_role(role));
    }
    statements.push(create_slot(source));
    statements
}

/// The statements of [`init_statements`] as one script for `psql`.
pub fn init_sql(source: &Source, role: Option<&str>) -> String {
    init_statements(source, role).join("\n\n") + "\n"
}

/// Runs [`init_statements`] in the database.
///
/// # Errors
/// [`ControlError`] when the database cannot be reached or refuses a statement; those before it stay.
pub async fn apply(url: &PostgresUrl, source: &Source, role: Option<&str>) -> Result<(), ControlError> {
    let control = Control::connect(url).await?;
    apply_with(&control, source, role).await
}

pub(crate) async fn apply_with(control: &Control, source: &Source, role: Option<&str>) -> Result<(), ControlError> {
    for statement in init_statements(source, role) {
        control.client().batch_execute(&statement).await?;
    }
    Ok(())
}

/// `CREATE SCHEMA IF NOT EXISTS` wants the right to create one even where it exists; this does not.
fn create_schema(schema: &str) -> String {
    format!(
        "-- The schema.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = {}) THEN
    CREATE SCHEMA {};
  END IF;
END $$;",
        literal(schema),
        identifier(schema)
    )
}

fn create_table(table: &TableName) -> String {
    format!(
        "-- The outbox. A service inserts its events here, in the transaction that makes them true.
DO $$ BEGIN
  IF to_regclass({name}) IS NULL THEN
    CREATE TABLE {table} (
      id                 uuid         PRIMARY KEY,
      aggregatetype      varchar(255) NOT NULL,  -- names the topic: outbox.event.<aggregatetype>
      aggregateid        varchar(255) NOT NULL,  -- the record's key: events of one id stay in order
      type               varchar(255) NOT NULL,  -- header `type`
      payload            jsonb,                  -- the record's value; NULL is a tombstone
      tracingspancontext text                    -- `traceparent`, so that the trace goes on in the consumer
    );
  END IF;
END $$;",
        name = literal(&table.quoted()),
        table = table.quoted()
    )
}

fn create_publication(publication: &str) -> String {
    format!(
        "-- What is replicated: inserts only, so that rows may be deleted at any time, also in the same transaction.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = {}) THEN
    CREATE PUBLICATION {} WITH (publish = 'insert', publish_via_partition_root = true);
  END IF;
END $$;",
        literal(publication),
        identifier(publication)
    )
}

fn add_to_publication(publication: &str, table: &TableName) -> String {
    format!(
        "DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_publication_tables WHERE pubname = {}
                 AND schemaname = {} AND tablename = {}) THEN
    ALTER PUBLICATION {} ADD TABLE {};
  END IF;
END $$;",
        literal(publication),
        literal(&table.schema),
        literal(&table.name),
        identifier(publication),
        table.quoted()
    )
}

fn create_role(role: &str) -> String {
    format!(
        "-- The connector's role: it replicates and reads nothing. Give it a password with \\password, or ALTER ROLE.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {}) THEN
    CREATE ROLE {} LOGIN REPLICATION;
  END IF;
END $$;",
        literal(role),
        identifier(role)
    )
}

/// The making of the slot is recorded with it, so that a connector without progress can tell a slot that is new from one
/// that somebody else has read from: see [`slot_made_at`](crate::checks::slot_made_at). The slot comes first, for
/// Postgres makes none in a transaction that has written; and making it is not undone with the transaction, so a
/// comment that fails takes it along.
fn create_slot(source: &Source) -> String {
    format!(
        "-- The slot keeps the log from here on until the connector has published it. Waits for running transactions.
DO $$
DECLARE made_at pg_lsn;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = {slot}) THEN
    SELECT lsn INTO made_at FROM pg_create_logical_replication_slot({slot}, 'pgoutput');
    BEGIN
      EXECUTE format('COMMENT ON PUBLICATION %I IS %L', {publication},
                     format('pillion: slot %s made at %s', {slot}, made_at));
    EXCEPTION WHEN OTHERS THEN
      PERFORM pg_drop_replication_slot({slot});
      RAISE;
    END;
  END IF;
END $$;",
        slot = literal(&source.slot),
        publication = literal(&source.publication)
    )
}
