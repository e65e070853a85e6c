//! Requests with JSON bodies, by HTTP/1.1 over one connection: all the demo needs, without an HTTP library in the binary.
//!
//! Invariant: time and bytes are bounded, whatever the other side does.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// From connecting to the whole answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest answer taken, headers included.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// Posts `body` and returns the JSON of the answer.
///
/// # Errors
/// When the server cannot be reached, is too slow, or answers with anything but a 2xx status and JSON.
pub(super) async fn post_json(address: SocketAddr, path: &str, body: &Value) -> Result<Value> {
    let answer = send(address, "POST", path, &body.to_string()).await?;
    parse_answer(&answer).with_context(|| format!("POST http://{address}{path}"))
}

/// Returns the JSON found at `path`.
///
/// # Errors
/// As [`post_json`].
pub(super) async fn get_json(address: SocketAddr, path: &str) -> Result<Value> {
    let answer = send(address, "GET", path, "").await?;
    parse_answer(&answer).with_context(|| format!("GET http://{address}{path}"))
}

/// Posts `body` and returns the status of the answer, whatever it is.
///
/// # Errors
/// When the server cannot be reached or is too slow.
pub(super) async fn post_for_status(address: SocketAddr, path: &str, body: &Value) -> Result<u16> {
    let answer = send(address, "POST", path, &body.to_string()).await?;
    let status = answer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    status.with_context(|| format!("http://{address}{path} answered without a status"))
}

async fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<Vec<u8>> {
    let exchanged = tokio::time::timeout(PATIENCE, exchange(address, method, path, body));
    let answer = exchanged.await.with_context(|| format!("http://{address}{path} did not answer in {PATIENCE:?}"))?;
    answer.with_context(|| format!("cannot reach http://{address}{path}"))
}

async fn exchange(address: SocketAddr, method: &str, path: &str, body: &str) -> std::io::Result<Vec<u8>> {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Takes the JSON out of a whole answer, which ends with the connection (RFC 9112, section 6.3).
fn parse_answer(answer: &[u8]) -> Result<Value> {
    let answer = std::str::from_utf8(answer).context("the answer is not text")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer breaks off in its headers")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        bail!("answered {status}: {}", body.trim());
    }
    serde_json::from_str(body).with_context(|| format!("answered {status}, and not with JSON"))
}

#[cfg(test)]
mod tests;
