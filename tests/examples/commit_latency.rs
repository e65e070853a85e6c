//! How long a row takes from its commit to a Kafka consumer, at a steady rate:
//! `cargo run --release -p pillion-tests --example commit_latency -- POSTGRES_URL BOOTSTRAP ROWS_PER_SECOND ROWS`.
//!
//! The connector must be running between the two. Time counts from when the service's INSERT returns, which is when
//! Postgres has committed it, to when librdkafka hands the record over; both clocks are this process's. A record that
//! comes before the INSERT returns counts as 0.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rdkafka::ClientConfig;
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::message::{Headers, Message};
use tokio::time::{MissedTickBehavior, interval, timeout};
use uuid::Uuid;

const TOPIC: &str = "outbox.event.latency";
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [postgres, bootstrap, rate, rows] = arguments.as_slice() else {
        anyhow::bail!("usage: commit_latency POSTGRES_URL BOOTSTRAP ROWS_PER_SECOND ROWS");
    };
    let (rate, rows): (u32, usize) = (rate.parse()?, rows.parse()?);
    let (client, connection) = tokio_postgres::connect(postgres, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    let insert = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
                  VALUES ($1, 'latency', $2, 'Measured', jsonb_build_object('filler', repeat('x', 480)))";
    let insert = client.prepare(insert).await?;

    let consumer: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", format!("latency-{}", Uuid::new_v4()))
        .set("auto.offset.reset", "earliest")
        .set("isolation.level", "read_committed")
        .set("fetch.wait.max.ms", "500")
        .create()?;
    consumer.subscribe(&[TOPIC])?;
    // The topic, its connections and caches are warmed by a row of their own.
    let warm = Uuid::new_v4();
    client.execute(&insert, &[&warm, &"warm"]).await?;
    receive(&consumer, &mut |id| id == warm).await?;

    let writer = tokio::spawn(async move {
        let mut ticks = interval(Duration::from_secs(1) / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut committed = HashMap::with_capacity(rows);
        for number in 0..rows {
            ticks.tick().await;
            let id = Uuid::new_v4();
            client.execute(&insert, &[&id, &(number % 50).to_string()]).await?;
            committed.insert(id, Instant::now());
        }
        anyhow::Ok(committed)
    });
    let mut received = HashMap::with_capacity(rows);
    receive(&consumer, &mut |id| {
        received.entry(id).or_insert_with(Instant::now);
        received.len() == rows
    })
    .await?;
    let committed = writer.await??;

    let latency = |(id, at): (&Uuid, &Instant)| Some(received.get(id)?.saturating_duration_since(*at));
    let mut latencies: Vec<Duration> = committed.iter().filter_map(latency).collect();
    ensure!(latencies.len() == rows, "{} rows came, {rows} were written", latencies.len());
    latencies.sort();
    let percentile = |share: f64| latencies[((rows - 1) as f64 * share) as usize].as_micros();
    println!(
        "rows={rows} rate={rate}/s p50_us={} p90_us={} p99_us={} max_us={}",
        percentile(0.5),
        percentile(0.9),
        percentile(0.99),
        percentile(1.0)
    );
    Ok(())
}

/// Reads records and hands their event ids on, until told that it is enough.
async fn receive(consumer: &StreamConsumer, enough: &mut impl FnMut(Uuid) -> bool) -> Result<()> {
    loop {
        // A topic that is not there yet is an error to librdkafka that passes.
        let Ok(message) = timeout(PATIENCE, consumer.recv()).await.context("no record came")? else { continue };
        let headers = message.headers().into_iter().flat_map(Headers::iter);
        let id = headers.filter(|header| header.key == "id").find_map(|header| header.value);
        let id = id.and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        if enough(id.context("a record has no event id")?) {
            return Ok(());
        }
    }
}
