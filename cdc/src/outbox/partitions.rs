//! An outbox of partitions by time: made here, and the coming ones made ahead.
//!
//! What it costs: a partitioned table's primary key must contain the column it is partitioned by, so it is
//! `(id, created_at)` and the database no longer refuses an id that comes twice at different times. Ids are random,
//! and consumers drop repeated events by them anyway.
//!
//! Rows for which there is no partition go to the default one, for an insert that fails would take the service's own
//! transaction along.

use crate::quoting::{IDENTIFIER_LENGTH_MAX, TableName, literal};

/// How much time one partition holds. Bounds are in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// A day; seven are made ahead.
    Day,
    /// A week, from Monday; four are made ahead.
    Week,
    /// A month; three are made ahead.
    Month,
}

impl Interval {
    /// As `date_trunc` and `interval` name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Interval::Day => "day",
            Interval::Week => "week",
            Interval::Month => "month",
        }
    }

    /// How many are made ahead.
    pub(super) fn ahead(self) -> u8 {
        match self {
            Interval::Day => 7,
            Interval::Week => 4,
            Interval::Month => 3,
        }
    }

    /// The interval of a partition that holds so many days; None for one that is none of ours.
    pub(super) fn of_days(days: i32) -> Option<Interval> {
        match days {
            1 => Some(Interval::Day),
            7 => Some(Interval::Week),
            28..=31 => Some(Interval::Month),
            _ => None,
        }
    }
}

/// The partition for what fits no other.
pub(super) fn default_partition(table: &TableName) -> TableName {
    partition(table, "default")
}

/// `outbox_SUFFIX`, cut where Postgres would cut it.
fn partition(table: &TableName, suffix: &str) -> TableName {
    let mut end = table.name.len().min(IDENTIFIER_LENGTH_MAX - suffix.len() - 1);
    while !table.name.is_char_boundary(end) {
        end -= 1;
    }
    TableName { schema: table.schema.clone(), name: format!("{}_{suffix}", &table.name[..end]) }
}

/// The partitioned table and its default partition.
pub(super) fn create_table(table: &TableName) -> String {
    format!(
        "-- The outbox, in partitions by time: old events go by dropping a partition, which costs no vacuum. The primary
-- key must contain the time, so that an id is unique only together with it.
DO $$ BEGIN
  IF to_regclass({name}) IS NULL THEN
    CREATE TABLE {table} (
      id                 uuid         NOT NULL,
      aggregatetype      varchar(255) NOT NULL,  -- names the topic: outbox.event.<aggregatetype>
      aggregateid        varchar(255) NOT NULL,  -- the record's key: events of one id stay in order
      type               varchar(255) NOT NULL,  -- header `type`
      payload            jsonb,                  -- the record's value; NULL is a tombstone
      tracingspancontext text,                   -- `traceparent` and `tracestate`: the trace goes on in the consumer
      created_at         timestamptz  NOT NULL DEFAULT now(),
      PRIMARY KEY (id, created_at)
    ) PARTITION BY RANGE (created_at);
    CREATE TABLE {rest} PARTITION OF {table} DEFAULT;
  END IF;
END $$;",
        name = literal(&table.quoted()),
        table = table.quoted(),
        rest = default_partition(table).quoted()
    )
}

/// The partitions for now and the coming time that are missing. A time of which the default partition has rows already
/// is passed over with a warning; the rest of it goes there too.
pub(super) fn create_ahead(table: &TableName, interval: Interval) -> String {
    let prefix = partition(table, "pYYYYMMDD");
    let prefix = prefix.name.strip_suffix("YYYYMMDD").unwrap_or(&prefix.name);
    let unit = interval.name();
    format!(
        "-- Its partitions for this {unit} and the next {ahead}. Do this again before they are used up; `pillion outbox prune` does.
-- Attached, for CREATE TABLE … PARTITION OF would wait for every transaction that has the table. To drop one by hand
-- once it is published: DROP TABLE \"schema\".\"partition\".
DO $$
DECLARE
  first timestamp := date_trunc('{unit}', now() AT TIME ZONE 'UTC');
  lower timestamp;
  name text;
BEGIN
  FOR n IN 0..{ahead} LOOP
    lower := first + n * interval '1 {unit}';
    name := format('%I.%I', {schema}, {prefix} || to_char(lower, 'YYYYMMDD'));
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    BEGIN
      EXECUTE format('CREATE TABLE %s (LIKE {table} INCLUDING ALL)', name);
      EXECUTE format('ALTER TABLE {table} ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)',
                     name, lower AT TIME ZONE 'UTC', (lower + interval '1 {unit}') AT TIME ZONE 'UTC');
    EXCEPTION WHEN check_violation OR invalid_object_definition OR lock_not_available THEN
      RAISE WARNING '%', SQLERRM;
    END;
  END LOOP;
END $$;",
        ahead = interval.ahead(),
        table = table.quoted().replace('\'', "''").replace('%', "%%"),
        schema = literal(&table.schema),
        prefix = literal(prefix),
    )
}
