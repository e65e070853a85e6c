//! The SQL that sets a database up, statement by statement.

use super::{Source, partitions};
use crate::quoting::{TableName, identifier, literal};

/// `CREATE SCHEMA IF NOT EXISTS` wants the right to create one even where it exists; this does not.
pub(super) fn create_schema(schema: &str) -> String {
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

pub(super) fn create_table(table: &TableName) -> String {
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
      tracingspancontext text,                   -- `traceparent` and `tracestate`: the trace goes on in the consumer
      created_at         timestamptz  NOT NULL DEFAULT now()  -- for prune and republish; not part of the event
    );
  END IF;
END $$;",
        name = literal(&table.quoted()),
        table = table.quoted()
    )
}

pub(super) fn create_publication(publication: &str) -> String {
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

pub(super) fn add_to_publication(publication: &str, table: &TableName) -> String {
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

pub(super) fn create_role(role: &str) -> String {
    format!(
        "-- The connector's role. To replicate is all the connector itself needs; it reads no table. Give the role a
-- password with \\password, or ALTER ROLE.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {}) THEN
    CREATE ROLE {} LOGIN REPLICATION;
  END IF;
END $$;",
        literal(role),
        identifier(role)
    )
}

pub(super) fn grant_schema(schema: &str, role: &str) -> String {
    format!(
        "-- For the commands of the next grants.\nGRANT USAGE ON SCHEMA {} TO {};",
        identifier(schema),
        identifier(role)
    )
}

pub(super) fn grant_table(table: &TableName, role: &str, is_partitioned: bool) -> String {
    let rest = is_partitioned.then(|| format!(", {}", partitions::default_partition(table).quoted()));
    format!(
        "-- SELECT: for snapshot=initial, `outbox status` and `outbox republish`. DELETE: for `outbox prune`; to drop
-- partitions, run it as the table's owner. Leave out what you do not use.
GRANT SELECT, DELETE ON {}{} TO {};",
        table.quoted(),
        rest.unwrap_or_default(),
        identifier(role)
    )
}

pub(super) fn create_inbox(table: &TableName) -> String {
    format!(
        "-- The inbox, in the consumer's database. Insert the event's header `id` here in the transaction that does the
-- event's work, ON CONFLICT DO NOTHING: no row inserted means that the work is done already. Rows may go once no event
-- that old can come again: DELETE FROM {table} WHERE processed_at < now() - interval '30 days'.
CREATE TABLE IF NOT EXISTS {table} (
  event_id     uuid        PRIMARY KEY,
  processed_at timestamptz NOT NULL DEFAULT now()
);",
        table = table.quoted()
    )
}

/// The making of the slot is recorded with it, so that a connector without progress can tell a slot that is new from one
/// that somebody else has read from: see [`slot_made_at`](crate::checks::slot_made_at). The slot comes first, for
/// Postgres makes none in a transaction that has written; and making it is not undone with the transaction, so a
/// comment that fails takes it along.
pub(super) fn create_slot(source: &Source) -> String {
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
