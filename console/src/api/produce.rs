//! One record, produced by hand. The guard lets the request through only where `ui.allow.writes` says so.

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pillion_client::{Header, ProducerConfig, ProducerRecord};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::error::ApiError;

/// Headers of one record.
const HEADERS_MAX: usize = 100;
/// Longest wait for its delivery.
const DELIVERY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(15);

/// A record to produce.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRecord {
    topic: String,
    partition: Option<i32>,
    key: Option<Payload>,
    value: Option<Payload>,
    #[serde(default)]
    headers: Vec<(String, Option<Payload>)>,
}

/// Bytes, as text or as what stands for them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Payload {
    Text(String),
    Base64(String),
}

/// Answers a POST of `/api/messages`: where the record went.
pub(super) async fn produce(State(api): State<Api>, Json(new): Json<NewRecord>) -> Result<Json<Value>, ApiError> {
    if new.headers.len() > HEADERS_MAX {
        return Err(ApiError::bad(format!("a record has at most {HEADERS_MAX} headers here")));
    }
    let client = api.cluster.get().await?;
    // A producer would make the topic where the cluster does that by itself; here a mistyped name is an error.
    client.admin().describe_topics(std::slice::from_ref(&new.topic)).await?;
    let header = |(name, value): (String, Option<Payload>)| {
        Ok::<_, ApiError>(Header { key: name.into(), value: value.map(bytes).transpose()? })
    };
    let record = ProducerRecord {
        topic: new.topic.into(),
        partition: new.partition,
        key: new.key.map(bytes).transpose()?,
        value: new.value.map(bytes).transpose()?,
        headers: new.headers.into_iter().map(header).collect::<Result<_, _>>()?,
        timestamp_ms: None,
    };
    let producer = client.producer(ProducerConfig { delivery_timeout: DELIVERY_TIMEOUT, ..ProducerConfig::default() });
    let handle = producer.send(record).await.map_err(|error| ApiError::upstream(&error))?;
    let delivered = handle.await.map_err(|error| ApiError::upstream(&error))?;
    Ok(Json(json!({ "topic": *delivered.topic, "partition": delivered.partition, "offset": delivered.offset })))
}

fn bytes(payload: Payload) -> Result<Bytes, ApiError> {
    match payload {
        Payload::Text(text) => Ok(text.into()),
        Payload::Base64(text) => match STANDARD.decode(text) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(ApiError::bad(format!("this is not base64: {error}"))),
        },
    }
}
