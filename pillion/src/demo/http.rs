//! Requests with JSON bodies to the demo's services.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::http_exchange::{self, HttpAnswer};

/// From connecting to the whole answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts `body` and returns the JSON of the answer.
///
/// # Errors
/// When the server cannot be reached, is too slow, or answers with anything but a 2xx status and JSON.
pub(super) async fn post_json(address: SocketAddr, path: &str, body: &Value) -> Result<Value> {
    json_of(&post(address, path, body).await?).with_context(|| format!("POST http://{address}{path}"))
}

/// Returns the JSON found at `path`.
///
/// # Errors
/// As [`post_json`].
pub(super) async fn get_json(address: SocketAddr, path: &str) -> Result<Value> {
    let answered = http_exchange::get(&address.to_string(), path, PATIENCE).await;
    let answer = answered.with_context(|| format!("cannot reach http://{address}{path}"))?;
    json_of(&answer).with_context(|| format!("GET http://{address}{path}"))
}

/// Posts `body` and returns the status of the answer, whatever it is.
///
/// # Errors
/// When the server cannot be reached or is too slow.
pub(super) async fn post_for_status(address: SocketAddr, path: &str, body: &Value) -> Result<u16> {
    Ok(post(address, path, body).await?.status)
}

async fn post(address: SocketAddr, path: &str, body: &Value) -> Result<HttpAnswer> {
    let answered = http_exchange::post_json(&address.to_string(), path, &body.to_string(), PATIENCE).await;
    answered.with_context(|| format!("cannot reach http://{address}{path}"))
}

fn json_of(answer: &HttpAnswer) -> Result<Value> {
    if !(200..300).contains(&answer.status) {
        bail!("answered {}: {}", answer.status, answer.body.trim());
    }
    serde_json::from_str(&answer.body).with_context(|| format!("answered {}, and not with JSON", answer.status))
}

#[cfg(test)]
mod tests;
