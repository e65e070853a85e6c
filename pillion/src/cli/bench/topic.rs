//! A topic for a measurement: made before, deleted behind it whatever comes of it.

use std::time::Duration;

use anyhow::{Context, Result};
use pillion_client::{Client, NewTopic};

use crate::cli::flags::ClusterFlags;

/// How long the cluster may take to make it, and to delete it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures with a new topic. It is deleted by a client of its own: the one that measured knows the topic, and asking
/// about it once more would have the broker make it again.
pub(super) async fn with<T>(
    cluster: &ClusterFlags,
    partitions: i32,
    measure: impl AsyncFnOnce(&Client, &str) -> Result<T>,
) -> Result<T> {
    let name = format!("pillion-bench-{:016x}", rand::random::<u64>());
    let client = cluster.connect().await?;
    let made = client.admin().create_topics(vec![NewTopic { partitions, ..NewTopic::new(&name) }], PATIENCE).await?;
    made.into_iter().try_for_each(|outcome| outcome.result).context("cannot make a topic for the measurement")?;
    let measured = measure(&client, &name).await;
    client.shutdown().await;
    let deleted = delete(cluster, &name).await;
    let measured = measured?;
    deleted.with_context(|| format!("topic {name} is left behind"))?;
    Ok(measured)
}

async fn delete(cluster: &ClusterFlags, name: &str) -> Result<()> {
    let client = cluster.connect().await?;
    let outcomes = client.admin().delete_topics(vec![name.to_owned()], PATIENCE).await?;
    client.shutdown().await;
    Ok(outcomes.into_iter().try_for_each(|outcome| outcome.result)?)
}

/// Letters that compress a little.
pub(super) fn value(size: u32) -> bytes::Bytes {
    (0..size).map(|_| rand::random_range(b'a'..=b'z')).collect::<Vec<u8>>().into()
}
