//! Requests by HTTP/1.1, one connection each: all that tests of the example services need.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// No service takes as long, whatever stands still behind it.
const LIMIT: Duration = Duration::from_secs(30);

/// What a service answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Of the first line.
    pub status: u16,
    /// Null where the body is no JSON.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

/// Sends one request to `host:port`; a body goes as JSON. Each header is a whole line, as `traceparent: 00-…`.
///
/// # Errors
/// When nobody answers in time, or not by HTTP.
pub async fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: Option<&Value>,
) -> Result<Answer> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         {headers}connection: close\r\n\r\n{body}",
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = timeout(LIMIT, exchange).await.with_context(|| format!("{address}{path} does not answer"))??;
    let (head, text) = answer.split_once("\r\n\r\n").with_context(|| format!("{address}{path}: {answer:?}"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("a status")?;
    Ok(Answer { status, body: serde_json::from_str(text).unwrap_or(Value::Null), text: text.to_owned() })
}
