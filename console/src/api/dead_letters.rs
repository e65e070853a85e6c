//! A dead letter's row, written to its outbox again. The guard lets the request through only where `ui.allow.writes`
//! says so.

use axum::Json;
use axum::extract::State;
use pillion_cdc::outbox::{self, DeadLetter};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::{Api, messages};

/// Which dead letter, of which connector.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    connector: String,
    partition: i32,
    offset: i64,
}

/// Answers a POST of `/api/dead-letters/replay`: whether a row was replaced.
pub(super) async fn replay(State(api): State<Api>, Json(asked): Json<Asked>) -> Result<Json<Value>, ApiError> {
    let connectors = api.watched.connectors();
    let found = connectors.iter().find(|connector| connector.name == asked.connector);
    let connector = found.ok_or_else(|| ApiError::missing("there is no connector of this name"))?;
    let client = api.cluster.get().await?;
    let topic = connector.config.dead_letter_topic.clone();
    let record = messages::read(&client, topic, asked.partition, asked.offset).await?;
    let letter = DeadLetter::read(record.value.as_deref().unwrap_or_default())
        .map_err(|error| ApiError::bad(error.to_string()))?;
    let replaced = outbox::write_back(&connector.config, &letter).await.map_err(|error| ApiError::upstream(&error))?;
    Ok(Json(json!({ "replaced": replaced, "table": letter.table })))
}
