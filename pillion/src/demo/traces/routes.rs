//! The view's addresses: the page, its data, and where spans come in.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde::Serialize;

use super::intake::{self, REQUEST_BYTES_MAX};
use super::store::Store;
use super::view;

type Shared = State<Arc<Mutex<Store>>>;

const PAGE: &str = include_str!("page/traces.html");
const SCRIPT: &str = include_str!("page/traces.js");
const STYLE: &str = include_str!("page/traces.css");

/// The page loads nothing from elsewhere and runs no script but its own, whatever a span says.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Everything that is answered.
pub(super) fn router(store: Arc<Mutex<Store>>) -> Router {
    Router::new()
        .route("/", get(async || Redirect::temporary("/traces")))
        .route("/traces", get(async || text("text/html; charset=utf-8", PAGE)))
        .route("/traces/{id}", get(async || text("text/html; charset=utf-8", PAGE)))
        .route("/traces.js", get(async || text("text/javascript; charset=utf-8", SCRIPT)))
        .route("/traces.css", get(async || text("text/css; charset=utf-8", STYLE)))
        .route("/api/traces", get(list))
        .route("/api/traces/{id}", get(one))
        .route("/v1/traces", post(take_in).layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX)))
        .layer(middleware::from_fn(only_by_this_machines_names))
        .with_state(store)
}

async fn list(State(store): Shared) -> Response {
    json(&view::list(&store.lock()))
}

async fn one(State(store): Shared, Path(id): Path<String>) -> Response {
    let found = view::parse_trace_id(&id).and_then(|id| view::trace(&store.lock(), &id));
    match found {
        Some(trace) => json(&trace),
        None => (StatusCode::NOT_FOUND, "no such trace: it has not come yet, or newer ones have taken its place")
            .into_response(),
    }
}

async fn take_in(State(store): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    match intake::spans(&body, encoding) {
        Ok(spans) => {
            let mut store = store.lock();
            for (trace_id, span) in spans {
                store.add(trace_id, span);
            }
            // An empty ExportTraceServiceResponse: everything was taken.
            ([(CONTENT_TYPE, "application/x-protobuf")], ()).into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error:#}")).into_response(),
    }
}

/// A web page elsewhere can make its own name mean this machine and read what is here: so names are looked at.
async fn only_by_this_machines_names(request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
        return (StatusCode::FORBIDDEN, "ask for 127.0.0.1 or localhost").into_response();
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn text(content_type: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, content_type)], text).into_response()
}

fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
