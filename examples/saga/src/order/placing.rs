//! `POST /orders`: an order, its saga and the first event, in one transaction.

use anyhow::Result;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;
use tracing::info_span;
use uuid::Uuid;

use super::saga::Saga;
use super::{Orders, leading, store};
use crate::database::{begin, commit};
use crate::events::{Order, Style};
use crate::http::Failure;
use crate::trace_context;
use crate::traced::Traced as _;

/// Longest name of a customer or an item that is taken, in bytes.
const TEXT_BYTES_MAX: usize = 255;

/// The body of the request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewOrder {
    customer: String,
    sku: String,
    quantity: i32,
    amount_cents: i64,
    #[serde(default)]
    style: Style,
}

/// Answers as soon as the order is durable; how it ends is for `GET /orders/{id}`.
pub(super) async fn place_order(State(orders): State<Orders>, Json(new): Json<NewOrder>) -> Result<Response, Failure> {
    let is_text = |text: &str| (1..=TEXT_BYTES_MAX).contains(&text.len());
    if new.quantity < 1 || new.amount_cents < 0 || !is_text(&new.customer) || !is_text(&new.sku) {
        let error = "quantity must be at least 1, amountCents not negative, customer and sku 1 to 255 bytes long";
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": error }))).into_response());
    }
    let order = Order {
        order_id: Uuid::now_v7(),
        customer: new.customer,
        sku: new.sku,
        quantity: new.quantity,
        amount_cents: new.amount_cents,
        style: new.style,
        reason: None,
    };
    create_order(&orders, &order).traced(info_span!("create order", order.id = %order.order_id)).await?;
    let trace_id = trace_context::current_trace_id().map(|id| id.to_string());
    let body = json!({ "orderId": order.order_id, "traceId": trace_id, "style": order.style });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

async fn create_order(orders: &Orders, order: &Order) -> Result<()> {
    let begun = Saga::begin(order.style, &orders.limits, leading::now());
    let mut connection = orders.database.connection().await?;
    let transaction = begin(&mut connection).await?;
    store::insert(&transaction, order, &begun, &trace_context::to_keep()).await?;
    leading::publish(&transaction, order, &begun).await?;
    commit(transaction).await
}
