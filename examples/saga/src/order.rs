//! The order service: takes orders over HTTP, begins their sagas, and leads or watches them to the end.
//!
//! ```text
//! POST /orders ─ placing ┐                ┌ store: orders, sagas, saga_log
//! answers ───── leading ─┼─▶ saga (pure) ─┤
//! time ──────── overdue ─┤                └ outbox: events and commands
//! a person ──── views ───┘
//! ```
//! Invariant: a saga's new state, its log and what it publishes are committed together, and only on top of the version
//! they were decided upon.

mod leading;
mod overdue;
mod placing;
pub mod saga;
mod store;
mod views;

use anyhow::Result;
use axum::Router;
use axum::routing::{get, post};

use crate::database::Database;
use crate::events::{
    MAIL_REFUSED, MAIL_SENT, PAYMENT_COMPLETED, PAYMENT_DECLINED, PAYMENT_REFUNDED, STOCK_RELEASED, STOCK_RESERVED,
    STOCK_UNAVAILABLE,
};
use crate::http::{serve, stop_on_signal};
use crate::messaging::{InTransaction, Subscription, consume};
use crate::settings::{Settings, variable};
use crate::telemetry;
use leading::Leader;
use saga::Limits;

const TABLES: &str = include_str!("../sql/order.sql");

const SUBSCRIPTION: Subscription = Subscription {
    group: "order",
    events: &[
        PAYMENT_COMPLETED,
        PAYMENT_DECLINED,
        PAYMENT_REFUNDED,
        STOCK_RESERVED,
        STOCK_UNAVAILABLE,
        STOCK_RELEASED,
        MAIL_SENT,
        MAIL_REFUSED,
    ],
};

/// What the HTTP handlers work with.
#[derive(Clone)]
struct Orders {
    database: Database,
    limits: Limits,
}

/// The whole program.
///
/// # Errors
/// When the settings are wrong, or the database or the HTTP address is not to be had.
pub fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run(SUBSCRIPTION.group, run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let limits = Limits {
        step_ms: variable("SAGA_STEP_MS", 5_000)?,
        step_ms_max: variable("SAGA_STEP_MS_MAX", 30_000)?,
        attempts_max: variable("SAGA_ATTEMPTS_MAX", 8)?,
        deadline_ms: variable("SAGA_DEADLINE_MS", 300_000)?,
    };
    let database = Database::open(settings, SUBSCRIPTION.group, TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let orders = Orders { database: database.clone(), limits };
    let routes = Router::new()
        .route("/orders", post(placing::place_order))
        .route("/orders/{id}", get(views::show_order))
        .route("/sagas", get(views::list_sagas))
        .route("/sagas/{id}/resume", post(views::resume))
        .route("/sagas/{id}/compensate", post(views::compensate))
        .with_state(orders.clone());
    let stop = stop_on_signal()?;
    let process = InTransaction { database, reaction: Leader { limits } };
    let timer = async {
        overdue::push(orders, stop.clone()).await;
        Ok(())
    };
    tokio::try_join!(
        serve(&settings.http_listen, routes, stop.clone()),
        consume(SUBSCRIPTION, settings, process, stop.clone()),
        timer,
    )?;
    Ok(())
}
