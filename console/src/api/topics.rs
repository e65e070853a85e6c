//! Topics: a list, and one of them.

use std::collections::HashMap;

use axum::Json;
use axum::extract::{Query, State};
use pillion_broker::{SnapshotLimits, TopicSnapshot};
use pillion_client::{Client, ConfigEntry, ConfigResource, ConfigSource, Offset, TopicListing};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::{Api, Page};

/// A broker of our own tells of all of its topics at once.
const EVERY_TOPIC: SnapshotLimits = SnapshotLimits { topics: usize::MAX, groups: 0, topics_of_group: 0 };
/// Partitions shown of one topic.
const PARTITIONS_MAX: usize = 1_000;

/// Which topic.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    name: String,
}

/// Answers `/api/topics`.
pub(super) async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let (total, shown) = page.of(client.admin().list_topics().await?, |topic| &topic.name);
    let seen = counted(&api).await?;
    let mut topics = Vec::with_capacity(shown.len());
    for topic in shown {
        topics.push(match seen.get(&topic.name) {
            Some(seen) => counted_topic(&topic, seen),
            None => asked_topic(&client, &topic).await,
        });
    }
    Ok(Json(json!({ "total": total, "skip": page.skip, "topics": topics })))
}

/// Answers `/api/topic`.
pub(super) async fn describe(State(api): State<Api>, Query(asked): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let admin = client.admin();
    let names = std::slice::from_ref(&asked.name);
    let Some(topic) = admin.describe_topics(names).await?.pop() else {
        return Err(ApiError::missing("there is no topic of this name"));
    };
    let (starts, ends) = tokio::try_join!(
        admin.list_offsets(&asked.name, Offset::Earliest),
        admin.list_offsets(&asked.name, Offset::Latest)
    )?;
    let offsets: HashMap<i32, (Option<i64>, Option<i64>)> =
        starts.iter().zip(&ends).map(|(start, end)| (start.partition, (start.offset, end.offset))).collect();
    let partitions = topic.partitions.iter().take(PARTITIONS_MAX).map(|partition| {
        let (start, end) = offsets.get(&partition.partition).copied().unwrap_or_default();
        json!({
            "partition": partition.partition,
            "leader": partition.leader,
            "replicas": partition.replicas,
            "inSyncReplicas": partition.in_sync_replicas,
            "start": start,
            "end": end,
        })
    });
    let configs = admin.describe_configs(vec![ConfigResource::Topic(asked.name.clone())]).await?.pop();
    let configs = configs.and_then(|described| described.result.ok()).unwrap_or_default();
    let seen = counted(&api).await?;
    Ok(Json(json!({
        "name": topic.name,
        "id": topic.topic_id.to_string(),
        "isInternal": topic.is_internal,
        "partitionCount": topic.partitions.len(),
        "partitions": partitions.collect::<Vec<_>>(),
        "configs": configs.iter().map(config).collect::<Vec<_>>(),
        "counted": seen.get(&asked.name).map(counters),
    })))
}

/// A setting; a secret's value is never there.
pub(super) fn config(entry: &ConfigEntry) -> Value {
    let source = match entry.source {
        ConfigSource::Topic => "topic",
        ConfigSource::Broker => "broker",
        ConfigSource::ClusterDefault => "all brokers",
        ConfigSource::StaticBroker => "file",
        ConfigSource::Default => "default",
        ConfigSource::Other => "other",
    };
    json!({ "name": entry.name, "value": entry.value, "source": source, "isSensitive": entry.is_sensitive })
}

/// What a broker in this process has counted, by topic.
async fn counted(api: &Api) -> Result<HashMap<String, TopicSnapshot>, ApiError> {
    let Some(broker) = api.watched.broker() else { return Ok(HashMap::new()) };
    let looked = tokio::task::spawn_blocking(move || broker.snapshot(EVERY_TOPIC)).await;
    let topics = looked.map_err(|error| ApiError::upstream(&error))?.map(|seen| seen.topics).unwrap_or_default();
    Ok(topics.into_iter().map(|topic| (topic.name.clone(), topic)).collect())
}

fn counted_topic(topic: &TopicListing, seen: &TopicSnapshot) -> Value {
    json!({
        "name": topic.name,
        "isInternal": topic.is_internal,
        "partitions": topic.partitions,
        "records": seen.high_watermarks - seen.log_start_offsets,
        "counted": counters(seen),
    })
}

fn counters(seen: &TopicSnapshot) -> Value {
    json!({
        "logBytes": seen.log_bytes,
        "offlinePartitions": seen.offline_partitions,
        "appendedRecords": seen.appended_records,
        "appendedBytes": seen.appended_bytes,
        "fetchedBytes": seen.fetched_bytes,
    })
}

/// A topic of another cluster: offsets have to be asked for, sizes are not known.
async fn asked_topic(client: &Client, topic: &TopicListing) -> Value {
    let admin = client.admin();
    let asked = tokio::try_join!(
        admin.list_offsets(&topic.name, Offset::Earliest),
        admin.list_offsets(&topic.name, Offset::Latest)
    );
    let records = asked.ok().map(|(starts, ends)| {
        let sum = |listed: &[pillion_client::ListedOffset]| listed.iter().filter_map(|one| one.offset).sum::<i64>();
        sum(&ends) - sum(&starts)
    });
    json!({
        "name": topic.name,
        "isInternal": topic.is_internal,
        "partitions": topic.partitions,
        "records": records,
        "counted": null,
    })
}
