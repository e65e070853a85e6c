//! Writing events, with sqlx.

use ::sqlx::types::Json;
use ::sqlx::{AssertSqlSafe, Postgres, Transaction};
use uuid::Uuid;

use crate::event::{Event, Payload};
use crate::statement::{self, OUTBOX, ROWS_MAX};
use crate::{Error, Table};

/// Writes an event to the table `outbox`, in the caller's transaction. Gives back its id.
///
/// ```no_run
/// use pillion_outbox::{Event, sqlx::outbox};
/// # async fn pay(pool: &sqlx::PgPool, order_id: i64) -> Result<(), Box<dyn std::error::Error>> {
///
/// let mut transaction = pool.begin().await?;
/// sqlx::query("UPDATE orders SET state = 'PAID' WHERE id = $1").bind(order_id).execute(&mut *transaction).await?;
/// let paid = Event::new("order", order_id, "OrderPaid").json(&serde_json::json!({"total": 100}))?;
/// outbox::insert(&mut transaction, paid).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
///
/// The trace context is that of the span in which this runs, which a traced service has around its transaction.
///
/// # Errors
/// When the database refuses; the transaction is aborted then.
pub async fn insert(transaction: &mut Transaction<'_, Postgres>, event: Event) -> Result<Uuid, Error> {
    let id = event.id;
    insert_rows(transaction, OUTBOX, &[event]).await?;
    Ok(id)
}

/// Writes several events to the table `outbox`, to be published in this order: one statement for each 1,000 of them.
/// Gives back their ids.
///
/// # Errors
/// As [`insert`].
pub async fn insert_all(
    transaction: &mut Transaction<'_, Postgres>,
    events: impl IntoIterator<Item = Event>,
) -> Result<Vec<Uuid>, Error> {
    insert_chunks(transaction, OUTBOX, events).await
}

/// An outbox table of another name.
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
    pub async fn insert(&self, transaction: &mut Transaction<'_, Postgres>, event: Event) -> Result<Uuid, Error> {
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
        transaction: &mut Transaction<'_, Postgres>,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<Vec<Uuid>, Error> {
        insert_chunks(transaction, self.table.quoted(), events).await
    }
}

async fn insert_chunks(
    transaction: &mut Transaction<'_, Postgres>,
    table: &str,
    events: impl IntoIterator<Item = Event>,
) -> Result<Vec<Uuid>, Error> {
    let events: Vec<Event> = events.into_iter().collect();
    for chunk in events.chunks(ROWS_MAX) {
        insert_rows(transaction, table, chunk).await?;
    }
    Ok(events.iter().map(|event| event.id).collect())
}

async fn insert_rows(transaction: &mut Transaction<'_, Postgres>, table: &str, events: &[Event]) -> Result<(), Error> {
    // The table's name is quoted, and everything else is a parameter.
    let mut query = ::sqlx::query(AssertSqlSafe(statement::insert(table, events)));
    for event in events {
        query = query.bind(event.id).bind(&event.aggregate_type).bind(&event.aggregate_id).bind(&event.event_type);
        query = match &event.payload {
            Payload::Null => query,
            Payload::Json(value) => query.bind(Json(value)),
            Payload::Bytes(bytes) => query.bind(bytes.as_slice()),
        };
        query = query.bind(event.tracing_span_context());
    }
    // A statement of many rows is one of many lengths: none is kept prepared.
    query.persistent(events.len() == 1).execute(&mut **transaction).await?;
    Ok(())
}
