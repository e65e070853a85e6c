//! The storefront: the one service a browser talks to. It has no state; it passes requests on to the services that know,
//! and the trace with them.
//!
//! Callers may send W3C Trace Context or B3; what goes to the services is W3C. Invariant: every request is answered with
//! JSON within five seconds, whatever the services do.

mod upstream;

use anyhow::Result;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::response::{Html, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use pillion_saga::http::{serve, stop_on_signal};
use pillion_saga::settings::{Settings, variable};
use pillion_saga::telemetry;
use serde_json::Value;

use crate::storefront::upstream::Upstream;

const PAGE: &str = include_str!("storefront/page.html");

/// Longer bodies are refused.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The services behind it.
#[derive(Clone)]
struct Services {
    customer: Upstream,
    order: Upstream,
    history: Upstream,
    loyalty: Upstream,
}

/// Runs the service until it is told to stop.
///
/// # Errors
/// When the settings are wrong, or what it needs is not to be had.
pub(crate) fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run("storefront", run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    // It has no tables to make.
    if settings.migrate_only {
        return Ok(());
    }
    let service = |name, key, default: &str| Upstream::new(name, &variable(key, default.to_owned())?);
    let services = Services {
        order: service("order", "ORDER_URL", "http://127.0.0.1:8081")?,
        customer: service("customer", "CUSTOMER_URL", "http://127.0.0.1:8082")?,
        history: service("history", "HISTORY_URL", "http://127.0.0.1:8083")?,
        loyalty: service("loyalty", "LOYALTY_URL", "http://127.0.0.1:8084")?,
    };
    serve(&settings.http_listen, routes(services), stop_on_signal()?).await
}

fn routes(services: Services) -> Router {
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/customers", post(register))
        .route("/customers/{id}", get(customer))
        .route("/customers/{id}/orders", get(orders_of))
        .route("/customers/{id}/points", get(points_of))
        .route("/orders", post(place_order))
        .route("/orders/{id}", get(order))
        .route("/sagas", get(sagas))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(services)
}

async fn register(State(services): State<Services>, Json(body): Json<Value>) -> Response {
    services.customer.post("/customers", &body).await
}

async fn customer(State(services): State<Services>, Path(id): Path<String>) -> Response {
    services.customer.get("/customers/{id}", &id, None).await
}

async fn orders_of(State(services): State<Services>, Path(id): Path<String>, RawQuery(query): RawQuery) -> Response {
    services.history.get("/customers/{id}/orders", &id, query.as_deref()).await
}

async fn points_of(State(services): State<Services>, Path(id): Path<String>) -> Response {
    services.loyalty.get("/customers/{id}/points", &id, None).await
}

async fn place_order(State(services): State<Services>, Json(body): Json<Value>) -> Response {
    services.order.post("/orders", &body).await
}

async fn order(State(services): State<Services>, Path(id): Path<String>) -> Response {
    services.order.get("/orders/{id}", &id, None).await
}

async fn sagas(State(services): State<Services>, RawQuery(query): RawQuery) -> Response {
    services.order.get("/sagas", "", query.as_deref()).await
}
