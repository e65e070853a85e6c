//! What a person sees of orders and sagas, and what he can tell a saga to do.

use anyhow::Result;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use opentelemetry::trace::TraceContextExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Orders;
use super::leading::{Advanced, advance};
use super::saga::{Input, State as SagaState};
use super::store;
use crate::database::{begin, commit, query, query_opt};
use crate::http::Failure;
use crate::trace_context;

/// Sagas of one answer.
const SAGAS_MAX: i64 = 100;

/// `GET /orders/{id}`: the order, and its saga step by step.
pub(super) async fn show_order(State(orders): State<Orders>, Path(id): Path<Uuid>) -> Result<Response, Failure> {
    let connection = orders.database.connection().await?;
    let Some(stored) = store::load(&connection, id).await? else { return Ok(no_order(id)) };
    let order = "SELECT state, reason FROM orders WHERE id = $1";
    let Some(row) = query_opt(&connection, order, &[&id]).await? else { return Ok(no_order(id)) };
    let log = "SELECT version, saga, step, step_state, detail,
                      to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS at
               FROM saga_log WHERE order_id = $1 ORDER BY version, line LIMIT 1000";
    let steps: Vec<Value> = query(&connection, log, &[&id]).await?.iter().map(line).collect::<Result<_>>()?;
    let (order, saga) = (&stored.order, &stored.saga);
    Ok(Json(json!({
        "orderId": id,
        "customer": order.customer,
        "sku": order.sku,
        "quantity": order.quantity,
        "amountCents": order.amount_cents,
        "state": row.try_get::<_, &str>("state")?,
        "reason": row.try_get::<_, Option<&str>>("reason")?,
        "traceId": trace_id(&stored.trace),
        "saga": {
            "style": saga.style,
            "state": saga.state.name(),
            "version": stored.version,
            "isParked": saga.is_parked,
            "attempts": saga.attempts,
        },
        "steps": steps,
    }))
    .into_response())
}

fn line(row: &Row) -> Result<Value> {
    Ok(json!({
        "version": row.try_get::<_, i32>("version")?,
        "saga": row.try_get::<_, &str>("saga")?,
        "step": row.try_get::<_, Option<&str>>("step")?,
        "state": row.try_get::<_, Option<&str>>("step_state")?,
        "detail": row.try_get::<_, &str>("detail")?,
        "at": row.try_get::<_, &str>("at")?,
    }))
}

/// The query of `GET /sagas`.
#[derive(Deserialize)]
pub(super) struct Wanted {
    state: Option<String>,
}

/// `GET /sagas?state=stuck`, or `started`, `compensating`, `completed`, `compensated`, `aborted`: the oldest hundred.
/// Stuck are those that wait for a person.
pub(super) async fn list_sagas(
    State(orders): State<Orders>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Failure> {
    let wanted = wanted.state.unwrap_or_else(|| "stuck".to_owned()).to_uppercase();
    if wanted != "STUCK" && SagaState::named(&wanted).is_none() {
        let known = SagaState::ALL.map(|state| state.name().to_lowercase()).join(", ");
        let error = format!("there is no state {wanted}: ask for stuck, {known}");
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "error": error }))).into_response());
    }
    let list = "SELECT order_id, style, state, version, is_parked, attempts, reason, trace FROM sagas
                WHERE CASE WHEN $1 = 'STUCK' THEN is_parked ELSE state = $1 END
                ORDER BY order_id LIMIT $2";
    let connection = orders.database.connection().await?;
    let rows = query(&connection, list, &[&wanted, &SAGAS_MAX]).await?;
    let sagas: Vec<Value> = rows.iter().map(summary).collect::<Result<_>>()?;
    Ok(Json(json!({ "sagas": sagas })).into_response())
}

fn summary(row: &Row) -> Result<Value> {
    Ok(json!({
        "orderId": row.try_get::<_, Uuid>("order_id")?,
        "style": row.try_get::<_, &str>("style")?,
        "state": row.try_get::<_, &str>("state")?,
        "version": row.try_get::<_, i32>("version")?,
        "isParked": row.try_get::<_, bool>("is_parked")?,
        "attempts": row.try_get::<_, i32>("attempts")?,
        "reason": row.try_get::<_, Option<&str>>("reason")?,
        "traceId": trace_id(row.try_get("trace")?),
    }))
}

/// `POST /sagas/{id}/resume`: try on.
pub(super) async fn resume(State(orders): State<Orders>, Path(id): Path<Uuid>) -> Result<Response, Failure> {
    tell(&orders, id, Input::Resume).await
}

/// `POST /sagas/{id}/compensate`: undo what was done.
pub(super) async fn compensate(State(orders): State<Orders>, Path(id): Path<Uuid>) -> Result<Response, Failure> {
    tell(&orders, id, Input::Compensate).await
}

async fn tell(orders: &Orders, id: Uuid, input: Input<'_>) -> Result<Response, Failure> {
    let mut connection = orders.database.connection().await?;
    let transaction = begin(&mut connection).await?;
    let advanced = advance(&transaction, id, input, &orders.limits).await?;
    commit(transaction).await?;
    Ok(match advanced {
        Advanced::Unknown => no_order(id),
        Advanced::Unchanged => {
            let error = "the saga has ended, or has gone too far to be undone";
            (StatusCode::CONFLICT, Json(json!({ "error": error }))).into_response()
        }
        Advanced::Changed => (StatusCode::ACCEPTED, Json(json!({ "orderId": id }))).into_response(),
    })
}

fn no_order(id: Uuid) -> Response {
    (StatusCode::NOT_FOUND, Json(json!({ "error": format!("there is no order {id}") }))).into_response()
}

fn trace_id(trace: &str) -> Option<String> {
    let context = trace_context::kept(trace);
    let span = context.span();
    span.span_context().is_valid().then(|| span.span_context().trace_id().to_string())
}
