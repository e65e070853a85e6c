//! Calling another service: the trace goes along, and nobody is waited for longer than a limit.

use std::time::Duration;

use anyhow::{Context as _, Result};
use opentelemetry::trace::Status;
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde_json::Value;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::trace_context;
use crate::traced::Traced as _;

/// From connecting to the whole answer. Above the called service's own limit, so that its answer tells what is wrong,
/// and not only that it is slow.
const CALL_LIMIT: Duration = Duration::from_millis(4_800);

/// A client of one other service. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    base_url: String,
}

/// What the other service answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The JSON of the body; null when there is none.
    pub body: Value,
}

impl HttpClient {
    /// For a service at `base_url`, as `http://customer:8080`.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn new(base_url: &str) -> Result<HttpClient> {
        let client = reqwest::Client::builder().timeout(CALL_LIMIT).no_proxy().build()?;
        Ok(HttpClient { client, base_url: base_url.trim_end_matches('/').to_owned() })
    }

    /// GET. `route` is the path with names in the place of ids, for the span: `/orders/{id}`.
    ///
    /// # Errors
    /// When the service cannot be reached or is too slow. A status is no error.
    pub async fn get(&self, route: &str, path: &str) -> Result<Answer> {
        self.call(Method::GET, route, path, None::<&()>).await
    }

    /// POST with a JSON body.
    ///
    /// # Errors
    /// As [`HttpClient::get`].
    pub async fn post(&self, route: &str, path: &str, body: &impl Serialize) -> Result<Answer> {
        self.call(Method::POST, route, path, Some(body)).await
    }

    async fn call(&self, method: Method, route: &str, path: &str, body: Option<&impl Serialize>) -> Result<Answer> {
        let url = format!("{}{path}", self.base_url);
        let span = info_span!(
            "call",
            otel.name = format!("{method} {route}"),
            otel.kind = "client",
            http.request.method = %method,
            url.full = url,
            url.template = route,
            http.response.status_code = tracing::field::Empty,
        );
        let call = async {
            let mut request = self.client.request(method, &url);
            for (name, value) in trace_context::current_fields() {
                request = request.header(name, value);
            }
            if let Some(body) = body {
                request = request.json(body);
            }
            let response = request.send().await.with_context(|| format!("{url} does not answer"))?;
            let status = response.status();
            Span::current().record("http.response.status_code", status.as_u16());
            if status.is_client_error() || status.is_server_error() {
                // For the one who asked each of them is a failure (semantic conventions of HTTP client spans).
                Span::current().set_status(Status::error(status.to_string()));
            }
            let text = response.text().await.with_context(|| format!("{url} broke off its answer"))?;
            Ok::<_, anyhow::Error>(Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::Null) })
        };
        call.traced(span).await
    }
}
