//! Records sent as fast as they are taken.

use std::time::Instant;

use anyhow::{Context, Result};
use pillion_client::{Client, DeliveryHandle, ProducerConfig, ProducerRecord};
use tokio::sync::mpsc;

use super::figures::Figures;
use super::topic;

/// Deliveries that are not looked at yet.
const UNDER_WAY_MAX: usize = 100_000;
/// Latencies kept: beyond it every so many-th record's.
const LATENCIES_MAX: u64 = 1_000_000;

/// Sends so many records; the latency is from handing one over to its acknowledgement.
pub(super) async fn measure(
    client: &Client,
    topic: &str,
    records: u64,
    size: u32,
    config: ProducerConfig,
) -> Result<Figures> {
    let producer = client.producer(config);
    let value = topic::value(size);
    let (under_way, deliveries) = mpsc::channel(UNDER_WAY_MAX);
    let awaited = tokio::spawn(await_all(deliveries, (records / LATENCIES_MAX).max(1)));
    let started = Instant::now();
    for _ in 0..records {
        let value = Some(value.clone());
        let record = ProducerRecord { topic: topic.into(), value, ..ProducerRecord::default() };
        let sent = Instant::now();
        let delivery = producer.send(record).await.context("cannot send")?;
        if under_way.send((sent, delivery)).await.is_err() {
            break;
        }
    }
    drop(under_way);
    producer.flush().await?;
    let latencies = awaited.await.context("waiting for deliveries broke off")??;
    let elapsed = started.elapsed();
    Ok(Figures { what: "produce", records, bytes: records * u64::from(size), elapsed, latencies })
}

async fn await_all(
    mut deliveries: mpsc::Receiver<(Instant, DeliveryHandle)>,
    every: u64,
) -> Result<Vec<std::time::Duration>> {
    let (mut latencies, mut count) = (Vec::new(), 0_u64);
    while let Some((sent, delivery)) = deliveries.recv().await {
        delivery.await.context("a record was not delivered")?;
        if count.is_multiple_of(every) {
            latencies.push(sent.elapsed());
        }
        count += 1;
    }
    Ok(latencies)
}
