//! The cluster's brokers and the settings of the first, and this process's own numbers.

use axum::Json;
use axum::extract::State;
use pillion_broker::SnapshotLimits;
use pillion_client::{BrokerDescription, ConfigResource};
use pillion_trace_context::telemetry::{RecentWarning, recent_warnings};
use serde_json::{Value, json};

use super::error::ApiError;
use super::topics::config;
use super::{Api, overview};
use crate::process;

const LIMITS: SnapshotLimits = SnapshotLimits { topics: 0, groups: 0, topics_of_group: 0 };

/// Answers `/api/broker`.
pub(super) async fn describe(State(api): State<Api>) -> Result<Json<Value>, ApiError> {
    let client = api.cluster.get().await?;
    let admin = client.admin();
    let cluster = admin.describe_cluster().await?;
    let first = cluster.brokers.first().map(|broker| broker.id);
    let configs = match first {
        Some(id) => admin.describe_configs(vec![ConfigResource::Broker(id)]).await?.pop(),
        None => None,
    };
    let configs = configs.and_then(|described| described.result.ok()).unwrap_or_default();
    let watched = api.watched.clone();
    let looked = tokio::task::spawn_blocking(move || watched.broker().and_then(|broker| broker.snapshot(LIMITS))).await;
    let counted = looked.map_err(|error| ApiError::upstream(&error))?;
    let broker = |broker: &BrokerDescription| json!({ "id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack });
    Ok(Json(json!({
        "clusterId": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": cluster.brokers.iter().map(broker).collect::<Vec<_>>(),
        "configsOf": first,
        "configs": configs.iter().map(config).collect::<Vec<_>>(),
        "process": process::look().as_ref().map(overview::process_json),
        "counted": counted.as_ref().map(overview::broker_json),
        "warnings": recent_warnings().iter().map(warning).collect::<Vec<_>>(),
    })))
}

fn warning(warning: &RecentWarning) -> Value {
    json!({
        "atMs": warning.at_ms,
        "isError": warning.is_error,
        "target": warning.target,
        "text": warning.text,
    })
}
