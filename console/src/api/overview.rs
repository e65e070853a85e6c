//! Everything at a glance, and the last hour of it.

use axum::Json;
use axum::extract::State;
use pillion_broker::{ApiSnapshot, BrokerSnapshot, SnapshotLimits};
use serde_json::{Value, json};

use super::Api;
use super::connectors;
use super::error::ApiError;
use crate::health;
use crate::history::{Sample, now_ms};
use crate::process::{self, Process};

const LIMITS: SnapshotLimits = SnapshotLimits { topics: 0, groups: 20, topics_of_group: 100 };

/// Answers `/api/overview`.
pub(super) async fn overview(State(api): State<Api>) -> Result<Json<Value>, ApiError> {
    let watched = api.watched.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let broker = watched.broker().and_then(|broker| broker.snapshot(LIMITS));
        (broker, process::look(), watched)
    });
    let (broker, process, watched) = looked.await.map_err(|error| ApiError::upstream(&error))?;
    let readiness = health::readiness(&watched, None);
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "nowMs": now_ms(),
        "readiness": readiness,
        "settings": { "allowWrites": api.config.allow_writes, "traceUrl": api.config.trace_url },
        "process": process.as_ref().map(process_json),
        "broker": broker.as_ref().map(broker_json),
        "connectors": watched.connectors().iter().map(connectors::summary).collect::<Vec<_>>(),
    })))
}

/// Answers `/api/history`.
pub(super) async fn history(State(api): State<Api>) -> Json<Vec<Sample>> {
    Json(api.history.samples())
}

/// This process's numbers.
pub(super) fn process_json(seen: &Process) -> Value {
    json!({
        "cpuSeconds": seen.cpu_seconds,
        "residentBytes": seen.resident_bytes,
        "threads": seen.threads,
        "startedMs": (seen.started_seconds * 1000.0) as i64,
        "openFiles": seen.open_files,
        "openFilesMax": seen.open_files_max,
    })
}

/// A broker's numbers.
pub(super) fn broker_json(seen: &BrokerSnapshot) -> Value {
    let latency = |api: &ApiSnapshot| {
        // An infinite bound is no number in JSON.
        let buckets = api.latency.buckets.iter().map(|(bound, count)| (bound.is_finite().then_some(*bound), *count));
        json!({
            "name": api.name,
            "count": api.latency.count(),
            "sumSeconds": api.latency.sum_seconds,
            "buckets": buckets.collect::<Vec<_>>(),
        })
    };
    let group = |group: &pillion_broker::GroupSnapshot| {
        let lag: u64 = group.topics.iter().map(|topic| topic.lag).sum();
        json!({ "name": group.name, "state": group.state, "members": group.members, "lag": lag })
    };
    let syncs = ApiSnapshot { name: "sync", latency: seen.syncs.clone() };
    json!({
        "clusterId": seen.cluster_id,
        "nodeId": seen.node_id,
        "apis": seen.apis.iter().map(latency).collect::<Vec<_>>(),
        "syncs": latency(&syncs),
        "syncFailures": seen.sync_failures,
        "receivedBytes": seen.network.received_bytes,
        "sentBytes": seen.network.sent_bytes,
        "connections": seen.network.connections_open,
        "connectionsRefused": seen.network.connections_refused,
        "protocolErrors": seen.network.protocol_errors,
        "appendedRecords": seen.appended_records,
        "appendedBytes": seen.appended_bytes,
        "fetchedBytes": seen.fetched_bytes,
        "logBytes": seen.log_bytes,
        "unsyncedBytes": seen.unsynced_bytes,
        "topics": seen.topic_count,
        "partitions": seen.partition_count,
        "offlinePartitions": seen.offline_partition_count,
        "groupCount": seen.group_count,
        "groups": seen.groups.iter().map(group).collect::<Vec<_>>(),
        "openTransactions": seen.open_transactions,
        "disk": seen.disk.map(|disk| json!({
            "freeBytes": disk.free_bytes, "totalBytes": disk.total_bytes, "freeBytesMin": disk.free_bytes_min,
        })),
    })
}
