//! The payment service: charges for placed orders, and gives the money back when the stock is missing.

use anyhow::Result;
use axum::Router;
use deadpool_postgres::Transaction;
use pillion_saga::database::{Database, execute};
use pillion_saga::events::{Event, EventType, Order};
use pillion_saga::http::{serve, stop_on_signal};
use pillion_saga::messaging::{Subscription, consume};
use pillion_saga::settings::Settings;
use pillion_saga::{outbox, telemetry};

const TABLES: &str = include_str!("../../sql/payments.sql");

const EVENTS: [EventType; 2] = [EventType::OrderPlaced, EventType::StockUnavailable];

/// Charges above this are declined: 10,000.00.
const LIMIT_CENTS: i64 = 1_000_000;

fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run("payment", run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let database = Database::open(&settings.database_url, "payments", TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let subscription =
        Subscription { bootstrap_servers: &settings.bootstrap_servers, group: "payment", events: &EVENTS };
    tokio::try_join!(
        serve(&settings.http_listen, Router::new(), stop.clone()),
        consume(subscription, &database, stop.clone(), async |transaction: &Transaction<'_>, event: &Event| {
            match event.event_type {
                EventType::OrderPlaced => charge(transaction, &event.order).await,
                EventType::StockUnavailable => refund(transaction, &event.order).await,
                _ => Ok(()),
            }
        }),
    )?;
    Ok(())
}

/// One payment per order, however often it is asked for.
async fn charge(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let is_declined = order.amount_cents > LIMIT_CENTS;
    let state = if is_declined { "DECLINED" } else { "COMPLETED" };
    let insert = "INSERT INTO payments (order_id, customer, amount_cents, state) VALUES ($1, $2, $3, $4)
                  ON CONFLICT (order_id) DO NOTHING";
    if execute(transaction, insert, &[&order.order_id, &order.customer, &order.amount_cents, &state]).await? == 0 {
        return Ok(());
    }
    if is_declined {
        let reason = format!("the amount is above the limit of {LIMIT_CENTS} cents");
        outbox::publish(transaction, EventType::PaymentDeclined, &order.because(reason)).await
    } else {
        outbox::publish(transaction, EventType::PaymentCompleted, order).await
    }
}

/// The compensation. Only a completed payment can be refunded, and only once.
async fn refund(transaction: &Transaction<'_>, order: &Order) -> Result<()> {
    let update =
        "UPDATE payments SET state = 'REFUNDED', updated_at = now() WHERE order_id = $1 AND state = 'COMPLETED'";
    if execute(transaction, update, &[&order.order_id]).await? == 1 {
        outbox::publish(transaction, EventType::PaymentRefunded, order).await?;
    }
    Ok(())
}
