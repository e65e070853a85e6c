//! Events leave a service as rows of its outbox table, written in the transaction that changed its state: both become
//! visible, or neither. A connector turns each committed row into a record.

use anyhow::Result;
use deadpool_postgres::Transaction;
use serde::Serialize;
use tracing::info_span;
use uuid::Uuid;

use crate::database::traced_statement;
use crate::messaging::EventKind;
use crate::traced::Traced as _;

/// Writes one event; answers its id. The producer span around it travels in the row, so that whoever processes the
/// event continues this trace, however much later the row is published.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn publish(
    transaction: &Transaction<'_>,
    kind: EventKind,
    key: impl std::fmt::Display,
    payload: &(impl Serialize + Sync),
) -> Result<Uuid> {
    let id = Uuid::now_v7();
    let event = pillion_outbox::Event::new(kind.aggregate_type, &key, kind.name).id(id).json(payload)?;
    let span = info_span!(
        "create",
        otel.name = format!("{} create", kind.aggregate_type),
        otel.kind = "producer",
        messaging.system = "kafka",
        messaging.operation.name = "create",
        messaging.operation.type = "create",
        messaging.destination.name = kind.topic(),
        messaging.message.id = %id,
        messaging.kafka.message.key = %key,
        event.type = kind.name,
    );
    // It takes the trace context from the current span.
    let insert = async { pillion_outbox::outbox::insert(transaction, event).await };
    traced_statement("INSERT INTO outbox", insert).traced(span).await
}
