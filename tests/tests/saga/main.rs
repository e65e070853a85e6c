//! kill −9 of everything at every step of the saga: of each service, of connector, broker and Postgres, while orders of
//! both styles that end in all ways are under way. Afterwards each saga has ended as it must, money and stock add up,
//! and reconciliation finds nothing.
//!
//! In `make test` one kill a step, each victim at least once; `make chaos-saga` kills every victim at every step.

#![allow(clippy::unwrap_used)]

mod audit;
mod differences;
mod events;
mod kills;
mod orders;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use pillion_tests::shop::Shop;

use self::events::Events;
use self::kills::{STEPS, VICTIMS};
use self::orders::Orders;

/// Kills go on for so long, and until everybody was killed once.
const LENGTH: Duration = Duration::from_secs(50);

/// A shop whose services ask again soon, and notice soon that one of them has died.
async fn open() -> Result<(Shop, tempfile::TempDir)> {
    let mails = tempfile::tempdir()?;
    let directory = mails.path().to_str().context("a path")?.to_owned();
    let shop = Shop::open(&[
        ("SAGA_STEP_MS", "1000"),
        ("SAGA_STEP_MS_MAX", "4000"),
        // Whoever is killed all the time is not stuck.
        ("SAGA_ATTEMPTS_MAX", "100"),
        ("KAFKA_SESSION_TIMEOUT_MS", "2000"),
        ("MAIL_DIRECTORY", &directory),
        ("RECONCILE_SETTLE_SECONDS", "0"),
    ])
    .await?;
    let stock = "UPDATE inventory.stock SET available = 10000, received = 10000 WHERE sku = 'bicycle'";
    shop.postgres.connect().await?.batch_execute(stock).await?;
    Ok((shop, mails))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_every_step_leaves_every_saga_right() -> Result<()> {
    let (mut shop, mails) = open().await?;
    let events = Events::watch(&shop)?;
    let (mut orders, begun) = (Orders::default(), Instant::now());
    for (round, step) in STEPS.iter().enumerate() {
        if begun.elapsed() > LENGTH && round >= VICTIMS.len() {
            break;
        }
        kills::at(&mut shop, &events, &mut orders, step, VICTIMS[round % VICTIMS.len()]).await?;
    }
    audit::audit(&shop, &orders, mails.path()).await.with_context(|| shop.log())
}

/// `make chaos-saga`: `MINUTES` bounds it, and where nothing does it ends when everybody was killed at every step.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some ten minutes"]
async fn a_kill_of_everybody_at_every_step_leaves_every_saga_right() -> Result<()> {
    let minutes = std::env::var("MINUTES").ok().filter(|value| !value.is_empty());
    let minutes: f64 = minutes.map_or(Ok(f64::MAX), |value| value.parse())?;
    let (mut shop, mails) = open().await?;
    let events = Events::watch(&shop)?;
    let (mut orders, begun, mut rounds) = (Orders::default(), Instant::now(), 0);
    // A diagonal first, so that a short run has met everybody, too.
    for shift in 0..VICTIMS.len() {
        if begun.elapsed().as_secs_f64() > minutes * 60.0 {
            break;
        }
        for (round, step) in STEPS.iter().enumerate() {
            if begun.elapsed().as_secs_f64() > minutes * 60.0 {
                break;
            }
            kills::at(&mut shop, &events, &mut orders, step, VICTIMS[(round + shift) % VICTIMS.len()]).await?;
            rounds += 1;
        }
        audit::audit(&shop, &orders, mails.path()).await.with_context(|| shop.log())?;
        println!("{rounds} kills, {} orders, nothing lost or left over", orders.placed.len());
    }
    Ok(())
}
