//! One HTTP request and its answer, by HTTP/1.0 over one connection: all that the command line needs, without an HTTP
//! library.
//!
//! Invariant: time and bytes are bounded, whatever the other side does.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest answer taken, headers included.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    /// Such as 200.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: String,
}

/// GETs `path` from `address` (`host:port`); from connecting to the whole answer it may take `patience`.
///
/// # Errors
/// When nothing answers in time, or not by HTTP. A status is no error.
pub(crate) async fn get(address: &str, path: &str, patience: Duration) -> io::Result<HttpAnswer> {
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\naccept: application/json\r\n\r\n");
    within(patience, exchange(address, &request)).await
}

/// POSTs `body`, which is JSON, likewise.
///
/// # Errors
/// As [`get`].
pub(crate) async fn post_json(address: &str, path: &str, body: &str, patience: Duration) -> io::Result<HttpAnswer> {
    let request = format!(
        "POST {path} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    within(patience, exchange(address, &request)).await
}

async fn within(patience: Duration, exchanged: impl Future<Output = io::Result<HttpAnswer>>) -> io::Result<HttpAnswer> {
    tokio::time::timeout(patience, exchanged)
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {patience:?}"))))
}

async fn exchange(address: &str, request: &str) -> io::Result<HttpAnswer> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    // An answer to version 1.0 ends with its connection and comes in one piece (RFC 9112, section 6.3).
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    parse(&answer)
}

fn parse(answer: &[u8]) -> io::Result<HttpAnswer> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let text = std::str::from_utf8(answer).map_err(|_| broken("the answer is not text"))?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| broken("the answer breaks off in its headers"))?;
    let status = head.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| broken("the answer is not HTTP"))?;
    Ok(HttpAnswer { status, body: body.to_owned() })
}

#[cfg(test)]
mod tests;
