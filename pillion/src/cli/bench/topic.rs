//! A topic for a measurement: made before, deleted behind it whatever comes of it.

use std::time::Duration;

use anyhow::{Context, Result};
use pillion_client::{Client, NewTopic};

/// How long the cluster may take to make it, and to delete it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures with a new topic.
pub(super) async fn with<T>(
    client: &Client,
    partitions: i32,
    measure: impl AsyncFnOnce(&Client, &str) -> Result<T>,
) -> Result<T> {
    let name = format!("pillion-bench-{:016x}", rand::random::<u64>());
    let admin = client.admin();
    let made = admin.create_topics(vec![NewTopic { partitions, ..NewTopic::new(&name) }], PATIENCE).await?;
    made.into_iter().try_for_each(|outcome| outcome.result).context("cannot make a topic for the measurement")?;
    let measured = measure(client, &name).await;
    let deleted = admin.delete_topics(vec![name.clone()], PATIENCE).await;
    let deleted = deleted.and_then(|outcomes| outcomes.into_iter().try_for_each(|outcome| outcome.result));
    let measured = measured?;
    deleted.with_context(|| format!("topic {name} is left behind"))?;
    Ok(measured)
}

/// Letters that compress a little.
pub(super) fn value(size: u32) -> bytes::Bytes {
    (0..size).map(|_| rand::random_range(b'a'..=b'z')).collect::<Vec<u8>>().into()
}
