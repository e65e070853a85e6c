//! Records read back as fast as they come.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use pillion_client::{Assignment, Client, ConsumerConfig, Offset};

use super::figures::Figures;

/// How long nothing may come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads so many records of a topic.
pub(super) async fn measure(client: &Client, topic: &str, records: u64, size: u32) -> Result<Figures> {
    let ends = client.admin().list_offsets(topic, Offset::Latest).await?;
    let mut consumer = client.consumer(ConsumerConfig { max_poll_records: 10_000, ..ConsumerConfig::default() });
    let assignment = |end: &pillion_client::ListedOffset| Assignment {
        topic: topic.to_owned(),
        partition: end.partition,
        start: Offset::Earliest,
    };
    consumer.assign(ends.iter().map(assignment).collect()).await?;
    let started = Instant::now();
    let mut count = 0;
    while count < records {
        let polled = consumer.poll(PATIENCE).await?;
        if polled.is_empty() {
            bail!("{count} of {records} records came, and then none for {} s", PATIENCE.as_secs());
        }
        count += polled.len() as u64;
    }
    let elapsed = started.elapsed();
    Ok(Figures { what: "fetch", records, bytes: records * u64::from(size), elapsed, latencies: Vec::new() })
}
