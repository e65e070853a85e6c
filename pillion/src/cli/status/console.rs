//! What a pillion's console tells of its process, by HTTP.
//!
//! Invariant: a console that is not there, or is something else, is no error.

use std::time::Duration;

use serde::Deserialize;

use crate::http_exchange::{self, HttpAnswer};

/// From connecting to the whole answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The part of `/api/overview` that is shown.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Overview {
    pub(super) version: String,
    pub(super) process: Option<Process>,
    pub(super) broker: Option<Broker>,
    #[serde(default)]
    pub(super) connectors: Vec<Connector>,
}

/// The process.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Process {
    pub(super) started_ms: i64,
    pub(super) resident_bytes: u64,
    pub(super) cpu_seconds: f64,
}

/// Its broker.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Broker {
    pub(super) cluster_id: String,
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    pub(super) connections: u64,
    #[serde(default, rename = "offlinePartitions")]
    pub(super) offline_partitions: u64,
}

/// One of its connectors.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connector {
    pub(super) name: String,
    pub(super) state: String,
    pub(super) published: u64,
    pub(super) last_error: Option<String>,
}

/// Asks the console at `address`; `None` when nothing answers that can be understood, or it is another cluster's.
pub(super) async fn ask(address: &str, cluster_id: &str) -> Option<Overview> {
    let answer = http_exchange::get(address, "/api/overview", PATIENCE).await.ok()?;
    let overview = read(&answer)?;
    let is_same = overview.broker.as_ref().is_some_and(|broker| broker.cluster_id == cluster_id);
    is_same.then_some(overview)
}

fn read(answer: &HttpAnswer) -> Option<Overview> {
    (answer.status == 200).then(|| serde_json::from_str(&answer.body).ok())?
}

#[cfg(test)]
mod tests;
