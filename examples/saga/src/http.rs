//! The HTTP side of a service: a server that stops when told, a server span per request, and errors as answers.
//!
//! Invariant: every request is answered within [`REQUEST_LIMIT`], whatever stands still behind the service.

mod client;

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span, error, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::trace_context;
use crate::traced::record_exception;

pub use client::{Answer, HttpClient};

/// How long a handler may take. Above the limit of one statement, so that its error tells which one it was; a client
/// that gives up after five seconds still gets the answer.
pub const REQUEST_LIMIT: Duration = Duration::from_millis(4_500);

/// How long requests under way may still take once the service is told to stop.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// Serves until `stop`; requests under way are answered. The bound address is printed as the first line on standard
/// output, so that port 0 can be used. Every route but `/healthz` gets a server span.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(listen: &str, routes: Router, stop: CancellationToken) -> Result<()> {
    let listener = TcpListener::bind(listen).await.with_context(|| format!("HTTP_LISTEN={listen}"))?;
    println!("{}", listener.local_addr()?);
    let router = routes.layer(middleware::from_fn(traced_request)).route("/healthz", get(async || "ok"));
    let server = axum::serve(listener, router).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        outcome = server => Ok(outcome?),
        () = async { stop.cancelled().await; tokio::time::sleep(DRAIN_LIMIT).await } => Ok(()),
    }
}

/// A token that is cancelled by SIGTERM (an orchestrator's stop) or SIGINT (Ctrl-C).
///
/// # Errors
/// When the signal handlers cannot be installed.
pub fn stop_on_signal() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
        told.cancel();
    });
    Ok(stop)
}

/// The request's span, a child of the caller's `traceparent` if it sent one.
async fn traced_request(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let route = route.as_ref().map_or("", |route| route.as_str());
    let span = info_span!(
        "request",
        otel.name = format!("{method} {route}").trim_end(),
        otel.kind = "server",
        http.request.method = %method,
        http.route = route,
        url.path = request.uri().path(),
        http.response.status_code = tracing::field::Empty,
    );
    let headers = request.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    // Refused only for a span that is filtered out, which then needs no parent either.
    let _ = span.set_parent(trace_context::remote(headers));
    let answer = async {
        match tokio::time::timeout(REQUEST_LIMIT, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Failure(anyhow!("timeout: the request took longer than {REQUEST_LIMIT:?}")).into_response(),
        }
    };
    let response = answer.instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    response
}

/// An error on its way to the caller: 500, logged once, and the exception of the request's span.
pub struct Failure(anyhow::Error);

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        error!(error = %format_args!("{:#}", self.0));
        // A handler runs in the request's span.
        record_exception(&Span::current(), &self.0);
        let body = json!({ "error": "the request could not be carried out, see the service's log" });
        (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
    }
}
