//! The order service: takes orders over HTTP, starts the saga, and ends it by what payment and stock report.

use anyhow::Result;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use deadpool_postgres::Transaction;
use pillion_saga::database::{Database, begin, commit, execute, query_opt};
use pillion_saga::events::{Event, EventType, Order};
use pillion_saga::http::{Failure, serve, stop_on_signal};
use pillion_saga::messaging::{Subscription, consume};
use pillion_saga::settings::Settings;
use pillion_saga::traced::Traced as _;
use pillion_saga::{outbox, telemetry, trace_context};
use serde::Deserialize;
use serde_json::json;
use tracing::info_span;
use uuid::Uuid;

const TABLES: &str = include_str!("../../sql/orders.sql");

const EVENTS: [EventType; 3] = [EventType::StockReserved, EventType::PaymentDeclined, EventType::PaymentRefunded];

fn main() -> Result<()> {
    let settings = Settings::read()?;
    telemetry::run("order", run(&settings))
}

async fn run(settings: &Settings) -> Result<()> {
    let database = Database::open(&settings.database_url, "orders", TABLES).await?;
    if settings.migrate_only {
        return Ok(());
    }
    let routes = Router::new()
        .route("/orders", post(place_order))
        .route("/orders/{id}", get(show_order))
        .with_state(database.clone());
    let stop = stop_on_signal()?;
    let subscription = Subscription { bootstrap_servers: &settings.bootstrap_servers, group: "order", events: &EVENTS };
    tokio::try_join!(
        serve(&settings.http_listen, routes, stop.clone()),
        consume(subscription, &database, stop.clone(), end_saga),
    )?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewOrder {
    customer: String,
    sku: String,
    quantity: i32,
    amount_cents: i64,
}

async fn place_order(State(database): State<Database>, Json(new): Json<NewOrder>) -> Result<Response, Failure> {
    if new.quantity < 1 || new.amount_cents < 0 {
        let body = json!({ "error": "quantity must be at least 1, amountCents not negative" });
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response());
    }
    let order = Order {
        order_id: Uuid::now_v7(),
        customer: new.customer,
        sku: new.sku,
        quantity: new.quantity,
        amount_cents: new.amount_cents,
        reason: None,
    };
    create_order(&database, &order).traced(info_span!("create order", order.id = %order.order_id)).await?;
    let trace_id = trace_context::current_trace_id().map(|id| id.to_string());
    Ok((StatusCode::ACCEPTED, Json(json!({ "orderId": order.order_id, "traceId": trace_id }))).into_response())
}

async fn create_order(database: &Database, order: &Order) -> Result<()> {
    let mut connection = database.connection().await?;
    let transaction = begin(&mut connection).await?;
    execute(
        &transaction,
        "INSERT INTO orders (id, customer, sku, quantity, amount_cents, state) VALUES ($1, $2, $3, $4, $5, 'PENDING')",
        &[&order.order_id, &order.customer, &order.sku, &order.quantity, &order.amount_cents],
    )
    .await?;
    outbox::publish(&transaction, EventType::OrderPlaced, order).await?;
    commit(transaction).await
}

async fn show_order(State(database): State<Database>, Path(id): Path<Uuid>) -> Result<Response, Failure> {
    let query = "SELECT customer, sku, quantity, amount_cents, state, reason FROM orders WHERE id = $1";
    let connection = database.connection().await?;
    let Some(row) = query_opt(&connection, query, &[&id]).await? else {
        return Ok((StatusCode::NOT_FOUND, Json(json!({ "error": format!("there is no order {id}") }))).into_response());
    };
    Ok(Json(json!({
        "orderId": id,
        "customer": row.try_get::<_, String>("customer")?,
        "sku": row.try_get::<_, String>("sku")?,
        "quantity": row.try_get::<_, i32>("quantity")?,
        "amountCents": row.try_get::<_, i64>("amount_cents")?,
        "state": row.try_get::<_, String>("state")?,
        "reason": row.try_get::<_, Option<String>>("reason")?,
    }))
    .into_response())
}

/// An order that is no longer pending stays as it is: a late or repeated event changes nothing.
async fn end_saga(transaction: &Transaction<'_>, event: &Event) -> Result<()> {
    let (state, outcome) = match event.event_type {
        EventType::StockReserved => ("CONFIRMED", EventType::OrderConfirmed),
        EventType::PaymentDeclined | EventType::PaymentRefunded => ("CANCELLED", EventType::OrderCancelled),
        _ => return Ok(()),
    };
    let order = &event.order;
    let update = "UPDATE orders SET state = $2, reason = $3, updated_at = now() WHERE id = $1 AND state = 'PENDING'";
    if execute(transaction, update, &[&order.order_id, &state, &order.reason]).await? == 1 {
        outbox::publish(transaction, outcome, order).await?;
    }
    Ok(())
}
