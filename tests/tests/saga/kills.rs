//! One kill: orders are placed, and when the step's event passes the victim dies and is started again.

use std::time::{Duration, Instant};

use anyhow::Result;
use pillion_tests::shop::{BROKER, CONNECTOR, Shop};

use crate::events::Events;
use crate::orders::Orders;

/// Every event and command of the saga, and what comes of customers.
pub(crate) const STEPS: [&str; 18] = [
    "OrderPlaced",
    "ChargePayment",
    "PaymentCompleted",
    "ReserveStock",
    "StockReserved",
    "OrderConfirmed",
    "SendMail",
    "MailSent",
    "PaymentDeclined",
    "StockUnavailable",
    "RefundPayment",
    "PaymentRefunded",
    "MailRefused",
    "ReleaseStock",
    "StockReleased",
    "OrderCancelled",
    "CustomerRegistered",
    "PointsGranted",
];

const POSTGRES: &str = "postgres";

/// Everybody.
pub(crate) const VICTIMS: [&str; 11] = [
    "order",
    "payment",
    "inventory",
    "mailer",
    BROKER,
    CONNECTOR,
    POSTGRES,
    "loyalty",
    "history",
    "customer",
    "storefront",
];

/// How long a step's event may take while others recover from the kill before; then the victim dies anyway.
const STEP_LIMIT: Duration = Duration::from_secs(15);

/// Kills `victim` at `step`.
pub(crate) async fn at(
    shop: &mut Shop,
    events: &Events,
    orders: &mut Orders,
    step: &str,
    victim: &'static str,
) -> Result<()> {
    let (begun, before) = (Instant::now(), events.count(step));
    let placing = tokio::spawn(Orders::place(shop.address("storefront").to_owned()));
    let has_passed = events.more_than(before, step, STEP_LIMIT).await;
    if victim == POSTGRES {
        shop.postgres.kill()?;
        shop.postgres.restart().await?;
    } else {
        shop.kill(victim).await?;
        shop.start(victim).await?;
    }
    orders.extend(placing.await?);
    let seen = if has_passed { "" } else { ", which did not come in time" };
    println!("{victim} killed at {step}{seen}: {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}
