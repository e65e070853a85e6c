//! Kafka delivers an event at least once. The inbox makes its effect happen once: the event's id goes into a table in
//! the transaction that reacts to it.

use anyhow::Result;
use deadpool_postgres::Transaction;
use uuid::Uuid;

use crate::database::execute;

/// Notes that the event is being acted upon; `false` when it has been before. A second transaction with the same event
/// waits here until the first has ended.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn is_first_delivery(transaction: &Transaction<'_>, event_id: Uuid) -> Result<bool> {
    // As `pillion_outbox::inbox::once`, prepared once for each connection: a service runs it for every event.
    let insert = "INSERT INTO inbox (event_id) VALUES ($1) ON CONFLICT DO NOTHING";
    Ok(execute(transaction, insert, &[&event_id]).await? == 1)
}
