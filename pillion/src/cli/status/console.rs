//! What a pillion's console tells of its process, by HTTP.
//!
//! Invariant: time and bytes are bounded, whatever answers; a console that is not there is no error.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// From connecting to the whole answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer taken, headers included.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

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
    let answer = tokio::time::timeout(PATIENCE, get(address)).await.ok()?.ok()?;
    let overview = read(&answer)?;
    let is_same = overview.broker.as_ref().is_some_and(|broker| broker.cluster_id == cluster_id);
    is_same.then_some(overview)
}

async fn get(address: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    // Version 1.0: the answer ends with the connection and comes in one piece.
    let request = format!("GET /api/overview HTTP/1.0\r\nhost: {address}\r\naccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn read(answer: &[u8]) -> Option<Overview> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let is_done = head.split(' ').nth(1) == Some("200");
    is_done.then(|| serde_json::from_str(body).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overview_is_read_and_nothing_else_is() {
        let body = r#"{"version":"1","process":{"startedMs":5,"residentBytes":7,"cpuSeconds":0.5},"more":1,
            "broker":{"clusterId":"c","receivedBytes":1,"sentBytes":2,"connections":3},"connectors":[]}"#;
        let overview = read(format!("HTTP/1.0 200 OK\r\na: b\r\n\r\n{body}").as_bytes()).unwrap();
        assert_eq!((overview.process.unwrap().started_ms, overview.broker.unwrap().connections), (5, 3));
        for wrong in ["", "HTTP/1.0 200 OK\r\n\r\nhello", "HTTP/1.0 404 Not Found\r\n\r\n{\"version\":\"1\"}"] {
            assert!(read(wrong.as_bytes()).is_none(), "{wrong}");
        }
    }
}
