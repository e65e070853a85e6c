//! Consumer groups: a list, and one of them with its members and its lag.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use axum::extract::{Query, State};
use pillion_broker::{GroupSnapshot, SnapshotLimits};
use pillion_client::{Admin, CommittedOffset, Offset};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::{Api, Page};

/// A broker of our own tells of all of its groups at once.
const EVERY_GROUP: SnapshotLimits = SnapshotLimits { topics: 0, groups: usize::MAX, topics_of_group: 1_000 };
/// Topics and members shown of one group.
const SHOWN_MAX: usize = 500;

/// Which group.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    name: String,
}

/// Answers `/api/groups`.
pub(super) async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let (total, shown) = page.of(client.admin().list_groups().await?, |group| &group.group_id);
    let seen = counted(&api).await?;
    let groups = shown.iter().map(|group| {
        let seen = seen.get(&group.group_id);
        let lag = seen.map(|seen| seen.topics.iter().map(|topic| topic.lag).sum::<u64>());
        json!({
            "name": group.group_id,
            "state": group.state,
            "protocolType": group.protocol_type,
            "members": seen.map(|seen| seen.members),
            "topics": seen.map(|seen| seen.topics.len()),
            "lag": lag,
        })
    });
    Ok(Json(json!({ "total": total, "skip": page.skip, "groups": groups.collect::<Vec<_>>() })))
}

/// Answers `/api/group`.
pub(super) async fn describe(State(api): State<Api>, Query(asked): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let admin = client.admin();
    let group = admin.describe_group(&asked.name).await?;
    let committed = admin.group_offsets(&asked.name).await?;
    if group.state == "Dead" && committed.is_empty() {
        return Err(ApiError::missing("there is no group of this name"));
    }
    let members = group.members.iter().take(SHOWN_MAX).map(|member| {
        let assigned = member.assigned.iter().take(SHOWN_MAX);
        json!({
            "id": member.member_id,
            "instanceId": member.instance_id,
            "clientId": member.client_id,
            "host": member.client_host,
            "assigned": assigned.map(|one| format!("{}-{}", one.topic, one.partition)).collect::<Vec<_>>(),
        })
    });
    Ok(Json(json!({
        "name": group.group_id,
        "state": group.state,
        "protocol": group.protocol,
        "protocolType": group.protocol_type,
        "memberCount": group.members.len(),
        "members": members.collect::<Vec<_>>(),
        "topics": topics(&admin, committed).await,
    })))
}

/// What the group has committed, by topic, with the ends; those are missing for topics that are gone.
async fn topics(admin: &Admin, committed: Vec<CommittedOffset>) -> Vec<Value> {
    let mut by_topic: BTreeMap<String, Vec<CommittedOffset>> = BTreeMap::new();
    for offset in committed {
        by_topic.entry(offset.topic.clone()).or_default().push(offset);
    }
    let mut topics = Vec::new();
    for (topic, offsets) in by_topic.into_iter().take(SHOWN_MAX) {
        let ends = admin.list_offsets(&topic, Offset::Latest).await.unwrap_or_default();
        let ends: HashMap<i32, i64> = ends.iter().filter_map(|end| Some((end.partition, end.offset?))).collect();
        let partitions = offsets.iter().map(|committed| {
            let end = ends.get(&committed.partition);
            json!({
                "partition": committed.partition,
                "committed": committed.offset,
                "end": end,
                "lag": end.map(|end| (end - committed.offset).max(0)),
            })
        });
        topics.push(json!({ "name": topic, "partitions": partitions.collect::<Vec<_>>() }));
    }
    topics
}

async fn counted(api: &Api) -> Result<HashMap<String, GroupSnapshot>, ApiError> {
    let Some(broker) = api.watched.broker() else { return Ok(HashMap::new()) };
    let looked = tokio::task::spawn_blocking(move || broker.snapshot(EVERY_GROUP)).await;
    let groups = looked.map_err(|error| ApiError::upstream(&error))?.map(|seen| seen.groups).unwrap_or_default();
    Ok(groups.into_iter().map(|group| (group.name.clone(), group)).collect())
}
