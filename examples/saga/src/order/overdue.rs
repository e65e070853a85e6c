//! The timer of the sagas: whoever has waited too long for an answer says his part again.

use std::time::Duration;

use anyhow::Result;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

use super::Orders;
use super::leading::{advance, now};
use super::saga::Input;
use crate::database::{Conflict, NoAnswer, STATEMENT_LIMIT, begin, commit};
use crate::traced::Traced as _;
use crate::{timer, trace_context};

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Sagas of one look; the others are due at the next.
const SAGAS_MAX: i64 = 100;

/// Looks for overdue sagas until `stop`.
pub(super) async fn push(orders: Orders, stop: CancellationToken) {
    timer::every(LOOK_EVERY, stop, "overdue sagas", async || look(&orders).await).await;
}

async fn look(orders: &Orders) -> Result<()> {
    let connection = orders.database.connection().await?;
    // Without a span: nothing is the matter as a rule.
    let query = "SELECT order_id, trace FROM sagas
                 WHERE state IN ('STARTED', 'COMPENSATING') AND NOT is_parked AND due_ms <= $1
                 ORDER BY due_ms LIMIT $2";
    let rows = async { connection.query(&connection.prepare_cached(query).await?, &[&now(), &SAGAS_MAX]).await };
    let rows = timeout(STATEMENT_LIMIT, rows).await.map_err(|_| NoAnswer(STATEMENT_LIMIT))??;
    drop(connection);
    for row in rows {
        let (order_id, trace): (Uuid, String) = (row.try_get("order_id")?, row.try_get("trace")?);
        // The trace the order was placed in goes on, however much later.
        let span = info_span!("overdue saga", order.id = %order_id);
        let _ = span.set_parent(trace_context::kept(&trace));
        let pushed = push_one(orders, order_id).traced(span).await;
        match pushed {
            // An answer has come at the same moment: so much the better.
            Err(error) if error.is::<Conflict>() => (),
            outcome => outcome?,
        }
    }
    Ok(())
}

async fn push_one(orders: &Orders, order_id: Uuid) -> Result<()> {
    let mut connection = orders.database.connection().await?;
    let transaction = begin(&mut connection).await?;
    advance(&transaction, order_id, Input::Tick, &orders.limits).await?;
    commit(transaction).await?;
    info!("the saga of order {order_id} was overdue");
    Ok(())
}
