//! Outbox connectors: what they say of themselves, and what Postgres and the cluster say of them.

use axum::Json;
use axum::extract::{Query, State};
use pillion_cdc::outbox::{self, SlotHealth, TableHealth};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::error::{ApiError, with_causes};
use crate::history::now_ms;
use crate::metrics::state_name;
use crate::watched::WatchedConnector;

/// Which connector.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    name: String,
}

/// Answers `/api/connectors`.
pub(super) async fn list(State(api): State<Api>) -> Json<Value> {
    Json(json!({ "connectors": api.watched.connectors().iter().map(summary).collect::<Vec<_>>() }))
}

/// Answers `/api/connector`: asks its database and its cluster, which takes a moment.
pub(super) async fn describe(State(api): State<Api>, Query(asked): Query<Asked>) -> Result<Json<Value>, ApiError> {
    let connectors = api.watched.connectors();
    let found = connectors.iter().find(|connector| connector.name == asked.name);
    let connector = found.ok_or_else(|| ApiError::missing("there is no connector of this name"))?;
    let mut document = summary(connector);
    let health = match outbox::health(&connector.config).await {
        Ok(health) => json!({
            "serverLsn": health.server.to_string(),
            "slot": health.slot.as_ref().map(slot),
            "tables": health.tables.iter().map(table).collect::<Vec<_>>(),
            "deadLetters": health.cluster.as_ref().ok().map(|cluster| cluster.dead_letters),
            "clusterError": health.cluster.as_ref().err(),
        }),
        Err(error) => json!({ "error": with_causes(&error) }),
    };
    document["health"] = health;
    Ok(Json(document))
}

/// What a connector says of itself. Its database is named without the password.
pub(super) fn summary(connector: &WatchedConnector) -> Value {
    let seen = connector.status.snapshot();
    let config = &connector.config;
    json!({
        "name": connector.name,
        "state": state_name(seen.state),
        "database": config.postgres.to_string(),
        "slotName": config.slot,
        "publication": config.publication,
        "tableNames": config.tables.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "bootstrapServers": config.bootstrap_servers,
        "deadLetterTopic": config.dead_letter_topic,
        "confirmedLsn": seen.confirmed_lsn.to_string(),
        "lagBytes": seen.lag_bytes,
        "lagMs": seen.lag_ms(now_ms()),
        "retainedBytes": seen.retained_bytes,
        "published": seen.rows_published,
        "transactions": seen.transactions,
        "commits": seen.commits,
        "skipped": seen.rows_skipped,
        "deadLetters": seen.dead_letters,
        "sessions": seen.sessions,
        "lastCommitMs": seen.last_commit_time_ms,
        "lastEventId": seen.last_event_id.as_deref().map(String::from_utf8_lossy),
        "lastError": seen.last_error,
    })
}

fn slot(slot: &SlotHealth) -> Value {
    json!({
        "holder": slot.holder,
        "confirmedLsn": slot.confirmed.to_string(),
        "lagBytes": slot.lag_bytes,
        "lagSeconds": slot.lag.map(|lag| lag.as_secs_f64()),
        "retainedBytes": slot.retained_bytes,
        "retainedBytesMax": slot.retained_bytes_max,
        "walStatus": slot.wal_status,
        "isLost": slot.is_lost,
    })
}

fn table(table: &TableHealth) -> Value {
    json!({
        "name": table.table.to_string(),
        "rows": table.rows,
        "bytes": table.bytes,
        "partitions": table.partitions,
    })
}
