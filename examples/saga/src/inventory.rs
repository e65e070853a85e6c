//! The inventory service: takes the stock for orders that are paid, and puts it back when the order comes to nothing.
//!
//! Invariant: an order takes its stock at most once, the stock is never below zero, and asked again it answers as the
//! first time.

mod reservations;
mod stock;

use anyhow::{Result, bail};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use deadpool_postgres::Transaction;
use serde_json::json;

use crate::database::{Database, query_opt};
use crate::events::{MAIL_REFUSED, Order, PAYMENT_COMPLETED, RELEASE_STOCK, RESERVE_STOCK, Style};
use crate::http::{Failure, serve, stop_on_signal};
use crate::messaging::{Event, InTransaction, React, Subscription, consume};
use crate::settings::{Settings, variable};
use crate::telemetry;
use stock::Locking;

const TABLES: &str = include_str!("../sql/inventory.sql");

const SUBSCRIPTION: Subscription =
    Subscription { group: "inventory", events: &[PAYMENT_COMPLETED, MAIL_REFUSED, RESERVE_STOCK, RELEASE_STOCK] };

/// The whole program.
///
/// # Errors
/// When the settings are wrong, or the database or the HTTP address is not to be had.
pub fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run(SUBSCRIPTION.group, run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let locking = match variable("STOCK_LOCKING", "optimistic".to_owned())?.as_str() {
        "optimistic" => Locking::Optimistic,
        "pessimistic" => Locking::Pessimistic,
        other => bail!("STOCK_LOCKING={other}: give optimistic or pessimistic"),
    };
    let database = Database::open(settings, SUBSCRIPTION.group, TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let routes = Router::new().route("/stock/{sku}", get(show_stock)).with_state(database.clone());
    let process = InTransaction { database, reaction: Stock { locking } };
    tokio::try_join!(
        serve(&settings.http_listen, routes, stop.clone()),
        consume(SUBSCRIPTION, settings, process, stop.clone()),
    )?;
    Ok(())
}

/// What it does about events.
struct Stock {
    locking: Locking,
}

impl React for Stock {
    async fn react(&self, transaction: &Transaction<'_>, event: &Event) -> Result<()> {
        let order: Order = event.payload()?;
        let is_choreographed = order.style == Style::Choreographed;
        match event.kind {
            RESERVE_STOCK => reservations::reserve(transaction, &order, self.locking).await,
            RELEASE_STOCK => reservations::release(transaction, &order).await,
            PAYMENT_COMPLETED if is_choreographed => reservations::reserve(transaction, &order, self.locking).await,
            MAIL_REFUSED if is_choreographed => reservations::release(transaction, &order).await,
            _ => Ok(()),
        }
    }
}

async fn show_stock(State(database): State<Database>, Path(sku): Path<String>) -> Result<Response, Failure> {
    let connection = database.connection().await?;
    let row = query_opt(&connection, "SELECT available, version FROM stock WHERE sku = $1", &[&sku]).await?;
    let Some(row) = row else {
        return Ok((StatusCode::NOT_FOUND, Json(json!({ "error": format!("there is no {sku}") }))).into_response());
    };
    let (available, version): (i32, i32) = (row.try_get("available")?, row.try_get("version")?);
    Ok(Json(json!({ "sku": sku, "available": available, "version": version })).into_response())
}
