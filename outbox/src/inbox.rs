//! Acting upon an event once, with tokio-postgres.

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::statement::{self, INBOX};
use crate::{Error, Table};

/// Remembers the event in the table `inbox` ([`INBOX_TABLE`](crate::INBOX_TABLE)); `true` the first time. The effect
/// belongs into the same transaction, so that both are kept or neither. Commit the offset to Kafka after that.
///
/// ```no_run
/// # use pillion_outbox::inbox;
/// # async fn pay(client: &mut tokio_postgres::Client, event_id: uuid::Uuid) -> Result<(), Box<dyn std::error::Error>> {
/// let transaction = client.transaction().await?;
/// if inbox::once(&transaction, event_id).await? {
///     transaction.execute("UPDATE accounts SET balance = balance - 100 WHERE id = 7", &[]).await?;
/// }
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
///
/// While another transaction does the same, this waits for its end: `false` if it commits, `true` if it rolls back. At
/// the isolation levels REPEATABLE READ and SERIALIZABLE, Postgres answers with a serialization failure instead of
/// `false`: begin again.
///
/// # Errors
/// When the database refuses; the transaction is aborted then.
pub async fn once(transaction: &Transaction<'_>, event_id: Uuid) -> Result<bool, Error> {
    remember(transaction, INBOX, event_id).await
}

/// An inbox table of another name.
#[derive(Debug, Clone)]
pub struct Inbox {
    table: Table,
}

impl Inbox {
    /// For a table with a unique column `event_id`.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// As [`once`](once()).
    ///
    /// # Errors
    /// As [`once`](once()).
    pub async fn once(&self, transaction: &Transaction<'_>, event_id: Uuid) -> Result<bool, Error> {
        remember(transaction, self.table.quoted(), event_id).await
    }
}

async fn remember(transaction: &Transaction<'_>, table: &str, event_id: Uuid) -> Result<bool, Error> {
    let rows = transaction.execute_typed(&statement::remember(table), &[(&event_id, Type::UUID)]).await?;
    Ok(rows == 1)
}
