//! Events leave a service as rows of its outbox table, written in the transaction that changed its state: both become
//! visible, or neither. A connector turns each committed row into a record.

use anyhow::Result;
use deadpool_postgres::Transaction;
use tokio_postgres::types::Json;
use tracing::info_span;
use uuid::Uuid;

use crate::database::execute;
use crate::events::{EventType, Order};
use crate::trace_context;
use crate::traced::Traced as _;

/// Writes one event. The producer span around it travels in the row, so that whoever processes the event continues
/// this trace, however much later the row is published.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub async fn publish(transaction: &Transaction<'_>, event_type: EventType, order: &Order) -> Result<()> {
    let id = Uuid::now_v7();
    let span = info_span!(
        "create",
        otel.name = format!("{} create", event_type.aggregate_type()),
        otel.kind = "producer",
        messaging.system = "kafka",
        messaging.operation.name = "create",
        messaging.operation.type = "create",
        messaging.destination.name = event_type.topic(),
        messaging.message.id = %id,
        messaging.kafka.message.key = %order.order_id,
        event.type = event_type.name(),
    );
    let insert = async {
        let context = trace_context::current_as_properties();
        execute(
            transaction,
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
             VALUES ($1, $2, $3, $4, $5, $6)",
            &[
                &id,
                &event_type.aggregate_type(),
                &order.order_id.to_string(),
                &event_type.name(),
                &Json(order),
                &context,
            ],
        )
        .await
    };
    insert.traced(span).await?;
    Ok(())
}
