//! Charges and refunds: how an order's payment stands, and what is said about it.

use anyhow::{Context as _, Result, bail};
use deadpool_postgres::Transaction;

use crate::database::{execute, query_opt};
use crate::events::{Order, PAYMENT_COMPLETED, PAYMENT_DECLINED, PAYMENT_REFUNDED};
use crate::outbox;

/// Charges above this are declined: 10,000.00.
const LIMIT_CENTS: i64 = 1_000_000;

/// Whether the order's payment is known already.
pub(super) async fn exists(transaction: &Transaction<'_>, order: &Order) -> Result<bool> {
    let select = "SELECT 1 FROM payments WHERE order_id = $1";
    Ok(query_opt(transaction, select, &[&order.order_id]).await?.is_some())
}

/// Charges once, however often it is asked for, and tells how the payment stands: after a refund it stays refunded.
pub(super) async fn charge(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let reason =
        (order.amount_cents > LIMIT_CENTS).then(|| format!("the amount is above the limit of {LIMIT_CENTS} cents"));
    let state = if reason.is_some() { "DECLINED" } else { "COMPLETED" };
    let insert = "INSERT INTO payments (order_id, customer, amount_cents, state, reason) VALUES ($1, $2, $3, $4, $5)
                  ON CONFLICT (order_id) DO NOTHING";
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&order.order_id, &order.customer, &order.amount_cents, &state, &reason];
    if execute(transaction, insert, &parameters).await? == 1 {
        return tell(transaction, order, state, reason).await;
    }
    tell_again(transaction, order).await
}

/// The compensation. What was declined needs none; what was not charged yet never will be.
pub(super) async fn refund(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let upsert = "INSERT INTO payments (order_id, customer, amount_cents, state) VALUES ($1, $2, $3, 'REFUNDED')
                  ON CONFLICT (order_id) DO UPDATE SET state = 'REFUNDED', updated_at = now()
                  WHERE payments.state = 'COMPLETED'";
    if execute(transaction, upsert, &[&order.order_id, &order.customer, &order.amount_cents]).await? == 1 {
        return tell(transaction, order, "REFUNDED", order.reason.clone()).await;
    }
    tell_again(transaction, order).await
}

async fn tell_again(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let select = "SELECT state, reason FROM payments WHERE order_id = $1";
    let row =
        query_opt(transaction, select, &[&order.order_id]).await?.context("the payment that was there is gone")?;
    let reason: Option<String> = row.try_get("reason")?;
    tell(transaction, order, row.try_get("state")?, reason.or_else(|| order.reason.clone())).await
}

async fn tell(transaction: &Transaction<'_>, order: &Order, state: &str, reason: Option<String>) -> Result<()> {
    let kind = match state {
        "COMPLETED" => PAYMENT_COMPLETED,
        "DECLINED" => PAYMENT_DECLINED,
        "REFUNDED" => PAYMENT_REFUNDED,
        other => bail!("a payment cannot be {other}"),
    };
    outbox::publish(transaction, kind, order.order_id, &Order { reason, ..order.clone() }).await?;
    Ok(())
}
