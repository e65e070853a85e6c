//! The rows of the read model, built from events.
//!
//! Invariant: a row of `orders` is a function of the set of the order's events. It is worked out anew from that set
//! whenever an event joins it, so neither their sequence nor a repetition makes a difference.

use anyhow::Result;
use deadpool_postgres::Transaction;
use opentelemetry::trace::TraceContextExt as _;
use pillion_saga::database::execute;
use pillion_saga::events;
use pillion_saga::messaging::{Event, EventKind};
use serde::Deserialize;
use tracing::error;
use uuid::Uuid;

/// Everything that happens to an order.
pub(crate) const EVENTS: [EventKind; 9] = [
    events::ORDER_PLACED,
    events::ORDER_CONFIRMED,
    events::ORDER_CANCELLED,
    events::PAYMENT_COMPLETED,
    events::PAYMENT_DECLINED,
    events::PAYMENT_REFUNDED,
    events::STOCK_RESERVED,
    events::STOCK_UNAVAILABLE,
    events::STOCK_RELEASED,
];

/// What is kept of an event. The order's id is all that every event of an order has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    order_id: Uuid,
    customer: Option<String>,
    sku: Option<String>,
    quantity: Option<i32>,
    amount_cents: Option<i64>,
    reason: Option<String>,
}

/// A column each, as one statement takes many rows.
#[derive(Default)]
struct Columns {
    event_ids: Vec<Uuid>,
    order_ids: Vec<Uuid>,
    topics: Vec<String>,
    event_types: Vec<String>,
    happened_ms: Vec<i64>,
    customers: Vec<Option<String>>,
    skus: Vec<Option<String>>,
    quantities: Vec<Option<i32>>,
    amounts: Vec<Option<i64>>,
    reasons: Vec<Option<String>>,
    trace_ids: Vec<Option<String>>,
}

const INSERT_EVENTS: &str = "INSERT INTO events (event_id, order_id, topic, type, happened_at, customer, sku, quantity,
        amount_cents, reason, trace_id)
    SELECT event_id, order_id, topic, type, to_timestamp(ms / 1000.0), customer, sku, quantity, amount_cents, reason,
        trace_id
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::integer[],
        $9::bigint[], $10::text[], $11::text[])
        AS new (event_id, order_id, topic, type, ms, customer, sku, quantity, amount_cents, reason, trace_id)
    ON CONFLICT (event_id) DO NOTHING";

/// The payment was made before it was given back, and declined only if it was never made; of the stock likewise. An
/// order that is cancelled was never confirmed. Money and stock that belong to no order make none.
const WORK_OUT_ORDERS: &str = "INSERT INTO orders (order_id, customer, sku, quantity, amount_cents, state, payment,
        stock, reason, placed_at, ended_at, events)
    SELECT order_id, min(customer), min(sku), min(quantity), min(amount_cents),
        CASE WHEN bool_or(type = 'OrderCancelled') THEN 'CANCELLED'
             WHEN bool_or(type = 'OrderConfirmed') THEN 'CONFIRMED' ELSE 'PENDING' END,
        CASE WHEN bool_or(type = 'PaymentRefunded') THEN 'REFUNDED'
             WHEN bool_or(type = 'PaymentCompleted') THEN 'COMPLETED'
             WHEN bool_or(type = 'PaymentDeclined') THEN 'DECLINED' END,
        CASE WHEN bool_or(type = 'StockReleased') THEN 'RELEASED'
             WHEN bool_or(type = 'StockReserved') THEN 'RESERVED'
             WHEN bool_or(type = 'StockUnavailable') THEN 'UNAVAILABLE' END,
        min(reason) FILTER (WHERE type = 'OrderCancelled'),
        min(happened_at) FILTER (WHERE type = 'OrderPlaced'),
        min(happened_at) FILTER (WHERE type IN ('OrderConfirmed', 'OrderCancelled')),
        count(*)::integer
    FROM events WHERE order_id = ANY($1) GROUP BY order_id HAVING bool_or(topic = $2)
    ON CONFLICT (order_id) DO UPDATE SET customer = EXCLUDED.customer, sku = EXCLUDED.sku,
        quantity = EXCLUDED.quantity, amount_cents = EXCLUDED.amount_cents, state = EXCLUDED.state,
        payment = EXCLUDED.payment, stock = EXCLUDED.stock, reason = EXCLUDED.reason,
        placed_at = EXCLUDED.placed_at, ended_at = EXCLUDED.ended_at, events = EXCLUDED.events";

/// Takes the next events.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn build(transaction: &Transaction<'_>, received: &[Event]) -> Result<()> {
    let mut columns = Columns::default();
    for event in received {
        match event.payload::<Details>() {
            Ok(details) => columns.push(event, details),
            // No later attempt can read it; it stays in the topic.
            Err(error) => {
                let (partition, offset) = (event.partition, event.offset);
                error!("passing over {}-{partition} at offset {offset}: {error:#}", event.kind.topic());
            }
        }
    }
    if columns.event_ids.is_empty() {
        return Ok(());
    }
    execute(
        transaction,
        INSERT_EVENTS,
        &[
            &columns.event_ids,
            &columns.order_ids,
            &columns.topics,
            &columns.event_types,
            &columns.happened_ms,
            &columns.customers,
            &columns.skus,
            &columns.quantities,
            &columns.amounts,
            &columns.reasons,
            &columns.trace_ids,
        ],
    )
    .await?;
    execute(transaction, WORK_OUT_ORDERS, &[&columns.order_ids, &events::ORDER_PLACED.topic()]).await?;
    Ok(())
}

/// Empties both tables.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn forget(transaction: &Transaction<'_>) -> Result<()> {
    execute(transaction, "DELETE FROM orders", &[]).await?;
    execute(transaction, "DELETE FROM events", &[]).await?;
    Ok(())
}

impl Columns {
    fn push(&mut self, event: &Event, details: Details) {
        let origin = event.context.span().span_context().clone();
        self.event_ids.push(event.id);
        self.order_ids.push(details.order_id);
        self.topics.push(event.kind.topic());
        self.event_types.push(event.kind.name.to_owned());
        self.happened_ms.push(event.committed_ms);
        self.customers.push(details.customer);
        self.skus.push(details.sku);
        self.quantities.push(details.quantity);
        self.amounts.push(details.amount_cents);
        self.reasons.push(details.reason);
        self.trace_ids.push(origin.is_valid().then(|| origin.trace_id().to_string()));
    }
}
