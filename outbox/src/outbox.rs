//! Writing events, with tokio-postgres.

use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::event::{Event, Payload};
use crate::statement::{self, OUTBOX, ROWS_MAX};
use crate::{Error, Table};

/// Writes an event to the table `outbox`, in the caller's transaction: one round trip, nothing prepared. Gives back its id.
///
/// The trace context is that of the span in which this runs, which a traced service has around its transaction.
///
/// # Errors
/// When the database refuses; the transaction is aborted then.
pub async fn insert(transaction: &Transaction<'_>, event: Event) -> Result<Uuid, Error> {
    let id = event.id;
    insert_rows(transaction, OUTBOX, &[event]).await?;
    Ok(id)
}

/// Writes several events to the table `outbox`, to be published in this order: one round trip for each 1,000 of them.
/// Gives back their ids.
///
/// # Errors
/// As [`insert`].
pub async fn insert_all(
    transaction: &Transaction<'_>,
    events: impl IntoIterator<Item = Event>,
) -> Result<Vec<Uuid>, Error> {
    insert_chunks(transaction, OUTBOX, events).await
}

/// An outbox table of another name.
///
/// ```no_run
/// # use pillion_outbox::{Event, outbox::Outbox};
/// # async fn ship(transaction: &tokio_postgres::Transaction<'_>) -> Result<(), pillion_outbox::Error> {
/// let outbox = Outbox::new("shipping.outbox".parse()?);
/// outbox.insert(transaction, Event::new("parcel", "P-7", "ParcelSent")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Outbox {
    table: Table,
}

impl Outbox {
    /// For the columns of Debezium's outbox event router in this table.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// As [`insert`](insert()).
    ///
    /// # Errors
    /// As [`insert`](insert()).
    pub async fn insert(&self, transaction: &Transaction<'_>, event: Event) -> Result<Uuid, Error> {
        let id = event.id;
        insert_rows(transaction, self.table.quoted(), &[event]).await?;
        Ok(id)
    }

    /// As [`insert_all`](insert_all()).
    ///
    /// # Errors
    /// As [`insert`](insert()).
    pub async fn insert_all(
        &self,
        transaction: &Transaction<'_>,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Vec<Uuid>, Error> {
        insert_chunks(transaction, self.table.quoted(), events).await
    }
}

async fn insert_chunks(
    transaction: &Transaction<'_>,
    table: &str,
    events: impl IntoIterator<Item = Event>,
) -> Result<Vec<Uuid>, Error> {
    let events: Vec<Event> = events.into_iter().collect();
    for chunk in events.chunks(ROWS_MAX) {
        insert_rows(transaction, table, chunk).await?;
    }
    Ok(events.iter().map(|event| event.id).collect())
}

async fn insert_rows(transaction: &Transaction<'_>, table: &str, events: &[Event]) -> Result<(), Error> {
    let contexts: Vec<Option<String>> = events.iter().map(Event::tracing_span_context).collect();
    let mut parameters: Vec<(&(dyn ToSql + Sync), Type)> = Vec::with_capacity(events.len() * 6);
    for (event, context) in events.iter().zip(&contexts) {
        parameters.push((&event.id, Type::UUID));
        parameters.push((&event.aggregate_type, Type::TEXT));
        parameters.push((&event.aggregate_id, Type::TEXT));
        parameters.push((&event.event_type, Type::TEXT));
        match &event.payload {
            Payload::Null => {}
            Payload::Json(value) => parameters.push((value, Type::JSONB)),
            Payload::Bytes(bytes) => parameters.push((bytes, Type::BYTEA)),
        }
        parameters.push((context, Type::TEXT));
    }
    // With the types given there is no round trip to prepare it, and poolers that know no prepared statements can stay.
    transaction.execute_typed(&statement::insert(table, events), &parameters).await?;
    Ok(())
}
