//! The statements, the same for every driver.

use crate::event::{Event, Payload};

/// Rows of one INSERT: six parameters each, of the 65,535 that Postgres allows.
pub(crate) const ROWS_MAX: usize = 1000;

/// The default tables.
pub(crate) const OUTBOX: &str = "\"outbox\"";
pub(crate) const INBOX: &str = "\"inbox\"";

/// Makes the table `inbox`. Give each consumer that shares a database a table of its own, for two of them may each act
/// upon one event.
///
/// Ids may go once their events can come no more: after the topic's `retention.ms`, and no earlier than anyone might set
/// the group's offsets back. `DELETE FROM inbox WHERE processed_at < now() - interval '30 days'`, by a job of its own.
pub const INBOX_TABLE: &str = "CREATE TABLE IF NOT EXISTS inbox (
    event_id     uuid        PRIMARY KEY,
    processed_at timestamptz NOT NULL DEFAULT now()
)";

/// An INSERT of these events in their order. Parameters are numbered from 1: id, aggregate type, aggregate id, type,
/// payload, trace context; a NULL payload has none, for its column's type is not known.
pub(crate) fn insert(table: &str, events: &[Event]) -> String {
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("${number}")
    };
    let rows: Vec<String> = events
        .iter()
        .map(|event| {
            let [id, aggregate_type, aggregate_id, event_type] = [next(), next(), next(), next()];
            let payload = if event.payload == Payload::Null { "NULL".to_owned() } else { next() };
            format!("({id}, {aggregate_type}, {aggregate_id}, {event_type}, {payload}, {})", next())
        })
        .collect();
    let columns = "id, aggregatetype, aggregateid, type, payload, tracingspancontext";
    format!("INSERT INTO {table} ({columns}) VALUES {}", rows.join(", "))
}

/// Inserts an event's id, parameter 1, unless it is there. Waits for another transaction that is inserting it.
pub(crate) fn remember(table: &str) -> String {
    format!("INSERT INTO {table} (event_id) VALUES ($1) ON CONFLICT DO NOTHING")
}
