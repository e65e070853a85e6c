//! Orders and their sagas in the database.
//!
//! Invariant: a saga is changed only on top of the version that was read; each change has its lines in the log.

use anyhow::{Context as _, Result, anyhow};
use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Row;
use uuid::Uuid;

use super::saga::{Moved, Saga, State, Step, StepState};
use crate::database::{Conflict, execute, query_opt};
use crate::events::{Order, Style};

/// An order with its saga, as read.
pub(super) struct Stored {
    pub(super) order: Order,
    pub(super) saga: Saga,
    pub(super) version: i32,
    /// The trace the order was placed in.
    pub(super) trace: String,
}

/// An order and its saga; `None` when there is no such order.
pub(super) async fn load(client: &impl GenericClient, order_id: Uuid) -> Result<Option<Stored>> {
    let select = "SELECT customer, sku, quantity, amount_cents, version, style, sagas.state, payment, stock, mail,
                         is_parked, attempts, due_ms, deadline_ms, sagas.reason, trace
                  FROM sagas JOIN orders ON orders.id = sagas.order_id WHERE sagas.order_id = $1";
    let Some(row) = query_opt(client, select, &[&order_id]).await? else { return Ok(None) };
    let saga = saga(&row)?;
    let order = Order {
        order_id,
        customer: row.try_get("customer")?,
        sku: row.try_get("sku")?,
        quantity: row.try_get("quantity")?,
        amount_cents: row.try_get("amount_cents")?,
        style: saga.style,
        reason: saga.reason.clone(),
    };
    Ok(Some(Stored { order, saga, version: row.try_get("version")?, trace: row.try_get("trace")? }))
}

fn saga(row: &Row) -> Result<Saga> {
    let text = |name: &str| row.try_get::<_, &str>(name).map_err(anyhow::Error::from);
    let step = |name: &str| StepState::named(text(name)?).ok_or_else(|| anyhow!("unknown state of step {name}"));
    let style = if text("style")? == Style::Orchestrated.name() { Style::Orchestrated } else { Style::Choreographed };
    Ok(Saga {
        style,
        state: State::named(text("state")?).context("unknown state of a saga")?,
        steps: [step("payment")?, step("stock")?, step("mail")?],
        is_parked: row.try_get("is_parked")?,
        attempts: u32::try_from(row.try_get::<_, i32>("attempts")?)?,
        due: row.try_get("due_ms")?,
        deadline: row.try_get("deadline_ms")?,
        reason: row.try_get("reason")?,
    })
}

/// Writes a new order with the beginning of its saga.
pub(super) async fn insert(transaction: &Transaction<'_>, order: &Order, begun: &Moved, trace: &str) -> Result<()> {
    let insert = "INSERT INTO orders (id, customer, sku, quantity, amount_cents, state)
                  VALUES ($1, $2, $3, $4, $5, 'PENDING')";
    let Order { order_id, customer, sku, quantity, amount_cents, .. } = order;
    execute(transaction, insert, &[order_id, customer, sku, quantity, amount_cents]).await?;
    let insert = "WITH moved AS (
                    INSERT INTO sagas (order_id, version, style, state, payment, stock, mail, is_parked, attempts,
                                       due_ms, deadline_ms, reason, trace)
                    VALUES ($1, 1 + $2::int4, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $17) RETURNING version)
                  INSERT INTO saga_log (order_id, version, line, saga, step, step_state, detail)
                  SELECT $1, version, line, saga, step, step_state, detail
                  FROM moved, unnest($13::text[], $14::text[], $15::text[], $16::text[]) WITH ORDINALITY
                              AS entry (saga, step, step_state, detail, line)";
    write(transaction, insert, *order_id, 0, begun, Some(trace)).await
}

/// Writes what has come of an input.
pub(super) async fn update(transaction: &Transaction<'_>, stored: &Stored, moved: &Moved) -> Result<()> {
    let update = "WITH moved AS (
                    UPDATE sagas SET version = version + 1, style = $3, state = $4, payment = $5, stock = $6, mail = $7,
                                     is_parked = $8, attempts = $9, due_ms = $10, deadline_ms = $11, reason = $12
                    WHERE order_id = $1 AND version = $2 RETURNING version)
                  INSERT INTO saga_log (order_id, version, line, saga, step, step_state, detail)
                  SELECT $1, version, line, saga, step, step_state, detail
                  FROM moved, unnest($13::text[], $14::text[], $15::text[], $16::text[]) WITH ORDINALITY
                              AS entry (saga, step, step_state, detail, line)";
    write(transaction, update, stored.order.order_id, stored.version, moved, None).await
}

/// The order as its customer sees it.
pub(super) async fn set_order_state(transaction: &Transaction<'_>, order: &Order, state: &str) -> Result<()> {
    let update = "UPDATE orders SET state = $2, reason = $3, updated_at = now() WHERE id = $1 AND state <> $2";
    execute(transaction, update, &[&order.order_id, &state, &order.reason]).await?;
    Ok(())
}

/// Saga and log in one statement, whose parameters both kinds have in common.
async fn write(
    transaction: &Transaction<'_>,
    sql: &str,
    order_id: Uuid,
    version: i32,
    moved: &Moved,
    trace: Option<&str>,
) -> Result<()> {
    let Saga { style, state, is_parked, attempts, due, deadline, reason, .. } = &moved.saga;
    let [payment, stock, mail] = Step::ALL.map(|step| moved.saga.step(step).name());
    let (style, state, attempts) = (style.name(), state.name(), i32::try_from(*attempts)?);
    let sagas: Vec<&str> = moved.entries.iter().map(|entry| entry.state.name()).collect();
    let steps: Vec<Option<&str>> = moved.entries.iter().map(|entry| entry.step.map(|(step, _)| step.name())).collect();
    let states: Vec<Option<&str>> =
        moved.entries.iter().map(|entry| entry.step.map(|(_, state)| state.name())).collect();
    let details: Vec<&str> = moved.entries.iter().map(|entry| entry.detail.as_str()).collect();
    let mut parameters: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = vec![
        &order_id, &version, &style, &state, &payment, &stock, &mail, is_parked, &attempts, due, deadline, reason,
        &sagas, &steps, &states, &details,
    ];
    if let Some(trace) = &trace {
        parameters.push(trace);
    }
    if execute(transaction, sql, &parameters).await? == 0 {
        return Err(Conflict("the saga").into());
    }
    Ok(())
}
