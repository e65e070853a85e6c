//! Reservations: what an order has taken, and what is said about it.

use anyhow::{Context as _, Result, bail};
use deadpool_postgres::Transaction;

use super::stock::{self, Locking};
use crate::database::{execute, query_opt};
use crate::events::{Order, STOCK_RELEASED, STOCK_RESERVED, STOCK_UNAVAILABLE};
use crate::outbox;

/// Takes the stock once, however often it is asked for, and tells how the reservation stands: after a release it stays
/// released.
pub(super) async fn reserve(transaction: &Transaction<'_>, order: &Order, locking: Locking) -> Result<()> {
    let insert = "INSERT INTO reservations (order_id, sku, quantity, state) VALUES ($1, $2, $3, 'RESERVED')
                  ON CONFLICT (order_id) DO NOTHING";
    if execute(transaction, insert, &[&order.order_id, &order.sku, &order.quantity]).await? == 0 {
        return tell_again(transaction, order).await;
    }
    if stock::take(transaction, &order.sku, order.quantity, locking).await? {
        return tell(transaction, order, "RESERVED", None).await;
    }
    let reason = format!("there are not {} of {} in stock", order.quantity, order.sku);
    let mark = "UPDATE reservations SET state = 'UNAVAILABLE', reason = $2 WHERE order_id = $1";
    execute(transaction, mark, &[&order.order_id, &reason]).await?;
    tell(transaction, order, "UNAVAILABLE", Some(reason)).await
}

/// The compensation. What was refused needs none; what was not reserved yet never will be.
pub(super) async fn release(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let mark = "UPDATE reservations SET state = 'RELEASED', updated_at = now()
                WHERE order_id = $1 AND state = 'RESERVED'";
    if execute(transaction, mark, &[&order.order_id]).await? == 1 {
        stock::put_back(transaction, &order.sku, order.quantity).await?;
        return tell(transaction, order, "RELEASED", order.reason.clone()).await;
    }
    let insert = "INSERT INTO reservations (order_id, sku, quantity, state) VALUES ($1, $2, $3, 'RELEASED')
                  ON CONFLICT (order_id) DO NOTHING";
    execute(transaction, insert, &[&order.order_id, &order.sku, &order.quantity]).await?;
    tell_again(transaction, order).await
}

async fn tell_again(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let select = "SELECT state, reason FROM reservations WHERE order_id = $1";
    let row =
        query_opt(transaction, select, &[&order.order_id]).await?.context("the reservation that was there is gone")?;
    let reason: Option<String> = row.try_get("reason")?;
    tell(transaction, order, row.try_get("state")?, reason.or_else(|| order.reason.clone())).await
}

async fn tell(transaction: &Transaction<'_>, order: &Order, state: &str, reason: Option<String>) -> Result<()> {
    let kind = match state {
        "RESERVED" => STOCK_RESERVED,
        "UNAVAILABLE" => STOCK_UNAVAILABLE,
        "RELEASED" => STOCK_RELEASED,
        other => bail!("a reservation cannot be {other}"),
    };
    outbox::publish(transaction, kind, order.order_id, &Order { reason, ..order.clone() }).await?;
    Ok(())
}
