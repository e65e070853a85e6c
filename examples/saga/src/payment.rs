//! The payment service: charges for orders, and gives the money back when the order comes to nothing.
//!
//! In a choreographed saga it reacts to the events of the others, in an orchestrated one to commands; the work is the
//! same. Invariant: an order is charged at most once, and asked again it answers as the first time.

mod charges;

use std::time::Duration;

use anyhow::Result;
use axum::Router;
use deadpool_postgres::Transaction;

use crate::database::Database;
use crate::events::{CHARGE_PAYMENT, ORDER_PLACED, Order, REFUND_PAYMENT, STOCK_RELEASED, STOCK_UNAVAILABLE, Style};
use crate::http::{serve, stop_on_signal};
use crate::messaging::{Event, InTransaction, React, Subscription, consume};
use crate::settings::{Settings, variable};
use crate::telemetry;

const TABLES: &str = include_str!("../sql/payment.sql");

const SUBSCRIPTION: Subscription = Subscription {
    group: "payment",
    events: &[ORDER_PLACED, STOCK_UNAVAILABLE, STOCK_RELEASED, CHARGE_PAYMENT, REFUND_PAYMENT],
};

/// The whole program.
///
/// # Errors
/// When the settings are wrong, or the database or the HTTP address is not to be had.
pub fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run(SUBSCRIPTION.group, run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let delay = Duration::from_millis(variable("PAYMENT_DELAY_MS", 0)?);
    let database = Database::open(settings, SUBSCRIPTION.group, TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let stop = stop_on_signal()?;
    let process = InTransaction { database, reaction: Payments { delay } };
    tokio::try_join!(
        serve(&settings.http_listen, Router::new(), stop.clone()),
        consume(SUBSCRIPTION, settings, process, stop.clone()),
    )?;
    Ok(())
}

/// What it does about events.
struct Payments {
    /// What a slow bank takes for a charge: `PAYMENT_DELAY_MS`.
    delay: Duration,
}

impl React for Payments {
    async fn react(&self, transaction: &Transaction<'_>, event: &Event) -> Result<()> {
        let order: Order = event.payload()?;
        let is_choreographed = order.style == Style::Choreographed;
        match event.kind {
            CHARGE_PAYMENT => self.charge(transaction, &order).await,
            REFUND_PAYMENT => charges::refund(transaction, &order).await,
            ORDER_PLACED if is_choreographed => self.charge(transaction, &order).await,
            STOCK_UNAVAILABLE | STOCK_RELEASED if is_choreographed => charges::refund(transaction, &order).await,
            _ => Ok(()),
        }
    }
}

impl Payments {
    async fn charge(&self, transaction: &Transaction<'_>, order: &Order) -> Result<()> {
        if !self.delay.is_zero() && !charges::exists(transaction, order).await? {
            tokio::time::sleep(self.delay).await;
        }
        charges::charge(transaction, order).await
    }
}
