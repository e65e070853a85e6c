//! The inventory service: takes the stock for orders that are paid.

use anyhow::Result;
use axum::Router;
use deadpool_postgres::Transaction;
use pillion_saga::database::{Database, execute};
use pillion_saga::events::{Event, EventType};
use pillion_saga::http::{serve, stop_on_signal};
use pillion_saga::messaging::{Subscription, consume};
use pillion_saga::settings::Settings;
use pillion_saga::{outbox, telemetry};

const TABLES: &str = include_str!("../../sql/inventory.sql");

const EVENTS: [EventType; 1] = [EventType::PaymentCompleted];

fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run("inventory", run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let database = Database::open(&settings.database_url, "inventory", TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let subscription =
        Subscription { bootstrap_servers: &settings.bootstrap_servers, group: "inventory", events: &EVENTS };
    tokio::try_join!(
        serve(&settings.http_listen, Router::new(), stop.clone()),
        consume(subscription, &database, stop.clone(), reserve),
    )?;
    Ok(())
}

/// One reservation per order, however often it is asked for. Two orders racing for the last item: the condition is
/// checked again by whichever update comes second.
async fn reserve(transaction: &Transaction<'_>, event: &Event) -> Result<()> {
    let order = &event.order;
    let insert = "INSERT INTO reservations (order_id, sku, quantity, state) VALUES ($1, $2, $3, 'RESERVED')
                  ON CONFLICT (order_id) DO NOTHING";
    if execute(transaction, insert, &[&order.order_id, &order.sku, &order.quantity]).await? == 0 {
        return Ok(());
    }
    let take = "UPDATE stock SET available = available - $2 WHERE sku = $1 AND available >= $2";
    if execute(transaction, take, &[&order.sku, &order.quantity]).await? == 1 {
        return outbox::publish(transaction, EventType::StockReserved, order).await;
    }
    let mark = "UPDATE reservations SET state = 'UNAVAILABLE' WHERE order_id = $1";
    execute(transaction, mark, &[&order.order_id]).await?;
    let reason = format!("there are not {} of {} in stock", order.quantity, order.sku);
    outbox::publish(transaction, EventType::StockUnavailable, &order.because(reason)).await
}
