//! One record after another, from a producer to a consumer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use pillion_client::{Assignment, Client, ConsumerConfig, Offset, ProducerConfig, ProducerRecord};

use super::figures::Figures;
use super::topic;

/// How long a record may be on its way.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends and receives so many records.
pub(super) async fn measure(
    client: &Client,
    topic: &str,
    records: u64,
    size: u32,
    config: ProducerConfig,
) -> Result<Figures> {
    let producer = client.producer(config);
    let mut consumer = client.consumer(ConsumerConfig::default());
    let ends = client.admin().list_offsets(topic, Offset::Latest).await?;
    let assignment = |end: &pillion_client::ListedOffset| Assignment {
        topic: topic.to_owned(),
        partition: end.partition,
        start: Offset::Earliest,
    };
    consumer.assign(ends.iter().map(assignment).collect()).await?;
    // The first one finds connections to be made, and counts for nothing.
    trip(&producer, &mut consumer, topic, size).await?;
    let mut latencies = Vec::new();
    let started = Instant::now();
    for _ in 0..records {
        latencies.push(trip(&producer, &mut consumer, topic, size).await?);
    }
    let elapsed = started.elapsed();
    Ok(Figures { what: "round trip", records, bytes: records * u64::from(size), elapsed, latencies })
}

async fn trip(
    producer: &pillion_client::Producer,
    consumer: &mut pillion_client::Consumer,
    topic: &str,
    size: u32,
) -> Result<Duration> {
    let value = Some(topic::value(size));
    let sent = Instant::now();
    let delivery = producer.send(ProducerRecord { topic: topic.into(), value, ..ProducerRecord::default() }).await?;
    if consumer.poll(PATIENCE).await?.is_empty() {
        bail!("a record did not arrive within {} s", PATIENCE.as_secs());
    }
    let latency = sent.elapsed();
    delivery.await.context("a record was not delivered")?;
    Ok(latency)
}
