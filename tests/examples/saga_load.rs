//! Measures the example saga: `cargo run --release -p pillion-tests --example saga_load [ORDERS] [RATE] [STYLE]`.
//!
//! First as many orders as go through, until the last one's mail is sent; then so many a second, with the time from the
//! request until the order service knows that the mail is sent. Spans are all kept and received in this process.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use pillion_test_postgres::Server;
use pillion_tests::otlp::OtlpReceiver;
use pillion_tests::saga::{Saga, SagaOptions};
use tokio::sync::Semaphore;

/// Requests at a time.
const REQUESTS: usize = 32;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let orders: usize = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let rate: u64 = arguments.next().map_or(Ok(50), |text| text.parse())?;
    let style = arguments.next().unwrap_or_else(|| "choreographed".to_owned());
    let receiver = OtlpReceiver::start().await?;
    let endpoint = (std::env::var("SAGA_LOAD_SPANS").as_deref() != Ok("off")).then(|| receiver.endpoint());
    let options = SagaOptions { otlp_endpoint: endpoint, ..SagaOptions::default() };
    let saga = Arc::new(Saga::start(Server::start().await?, options).await?);
    saga.database("inventory")
        .await?
        .batch_execute("INSERT INTO stock (sku, available) VALUES ('nail', 1000000)")
        .await?;
    place(&saga, &style, 20).await?;

    let begun = Instant::now();
    place(&saga, &style, orders).await?;
    let taken = begun.elapsed();
    finished(&saga, orders + 20).await?;
    let done = begun.elapsed();
    let per_second = |time: Duration| orders as f64 / time.as_secs_f64();
    println!("{orders} orders: taken at {:.0}/s, done at {:.0}/s", per_second(taken), per_second(done));

    let mut began = Vec::new();
    let mut interval = tokio::time::interval(Duration::from_micros(1_000_000 / rate));
    for _ in 0..rate * 10 {
        interval.tick().await;
        let saga = Arc::clone(&saga);
        let style = style.clone();
        began.push(tokio::spawn(async move {
            let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
            anyhow::Ok((saga.place(&style, "ada", "nail").await?, at))
        }));
    }
    let mut orders_at = Vec::new();
    for order in began {
        orders_at.push(order.await??);
    }
    finished(&saga, orders + 20 + orders_at.len()).await?;
    let client = saga.database("order").await?;
    let select = "SELECT extract(epoch FROM max(at))::float8 FROM saga_log WHERE order_id::text = $1";
    let mut latencies = Vec::new();
    for (order_id, at) in orders_at {
        let ended: f64 = client.query_one(select, &[&order_id]).await?.get(0);
        latencies.push((ended - at) * 1e3);
    }
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!("at {rate}/s: p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms", at(0.5), at(0.9), at(0.99));
    Ok(())
}

async fn place(saga: &Arc<Saga>, style: &str, orders: usize) -> Result<()> {
    let permits = Arc::new(Semaphore::new(REQUESTS));
    let mut placing = Vec::new();
    for _ in 0..orders {
        let permit = Arc::clone(&permits).acquire_owned().await?;
        let (saga, style) = (Arc::clone(saga), style.to_owned());
        placing.push(tokio::spawn(async move {
            let _permit = permit;
            saga.place(&style, "ada", "nail").await
        }));
    }
    for placed in placing {
        placed.await?.context("an order is not taken")?;
    }
    Ok(())
}

async fn finished(saga: &Saga, orders: usize) -> Result<()> {
    let client = saga.database("order").await?;
    loop {
        let count: i64 = client.query_one("SELECT count(*) FROM sagas WHERE state = 'COMPLETED'", &[]).await?.get(0);
        if usize::try_from(count)? >= orders {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
