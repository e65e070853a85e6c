//! What is done about findings.
//!
//! Invariant: a command is in the outbox, committed, before anything comes of it, and whoever gets it twice acts once: a
//! run that is killed may simply be started again.

use anyhow::{Result, ensure};
use pillion_saga::database::{Database, begin, commit, execute};
use pillion_saga::events::{CHARGE_PAYMENT, Order, REFUND_PAYMENT, RELEASE_STOCK, RESERVE_STOCK, Style};
use pillion_saga::http::HttpClient;
use pillion_saga::messaging::{EventKind, rewind};
use pillion_saga::outbox;
use pillion_saga::settings::variable;
use pillion_saga::traced::Traced as _;
use serde_json::json;
use tracing::info_span;
use uuid::Uuid;

use crate::reconcile::findings::{Details, Finding, Record, Repair};
use crate::reconcile::sources::Sources;

/// Sees to everything that a program can mend. Each repair is a trace of its own.
///
/// # Errors
/// When a database or the order service refuses or does not answer in time.
pub(crate) async fn mend(sources: &Sources, findings: &[Finding]) -> Result<()> {
    let orders = HttpClient::new(&variable("ORDER_URL", "http://127.0.0.1:8081".to_owned())?)?;
    for finding in findings {
        let span = info_span!("reconcile", otel.name = "repair", finding = %finding);
        mend_one(sources, &orders, finding).traced(span).await?;
    }
    if findings.iter().any(|finding| finding.kind.repair() == Repair::Replay) {
        replay(&sources.history).traced(info_span!("reconcile", otel.name = "replay the history")).await?;
    }
    Ok(())
}

async fn mend_one(sources: &Sources, orders: &HttpClient, finding: &Finding) -> Result<()> {
    match (finding.kind.repair(), &finding.record) {
        (Repair::Resume, Record::Order(id)) => tell(orders, "/sagas/{id}/resume", *id).await,
        (Repair::Compensate, Record::Order(id)) => tell(orders, "/sagas/{id}/compensate", *id).await,
        (Repair::Charge, Record::Order(id)) => command(sources, CHARGE_PAYMENT, *id, finding).await,
        (Repair::Refund, Record::Order(id)) => command(sources, REFUND_PAYMENT, *id, finding).await,
        (Repair::Reserve, Record::Order(id)) => command(sources, RESERVE_STOCK, *id, finding).await,
        (Repair::Release, Record::Order(id)) => command(sources, RELEASE_STOCK, *id, finding).await,
        (Repair::Recount, Record::Item(sku)) => recount(&sources.inventory, sku).await,
        _ => Ok(()),
    }
}

/// A saga that has ended meanwhile needs nothing.
async fn tell(orders: &HttpClient, route: &str, id: Uuid) -> Result<()> {
    let answer = orders.post(route, &route.replace("{id}", &id.to_string()), &json!({})).await?;
    let status = answer.status.as_u16();
    ensure!(matches!(status, 200..=299 | 409), "{route} of {id} was answered {status}: {}", answer.body);
    Ok(())
}

/// The answer concerns nobody: the saga has ended, or there is none.
async fn command(sources: &Sources, kind: EventKind, order_id: Uuid, finding: &Finding) -> Result<()> {
    let Details { customer, sku, quantity, amount_cents } = finding.details.clone();
    let reason = Some(format!("reconciliation: {finding}"));
    let order = Order { order_id, customer, sku, quantity, amount_cents, style: Style::Orchestrated, reason };
    let mut connection = sources.order.connection().await?;
    let transaction = begin(&mut connection).await?;
    outbox::publish(&transaction, kind, order_id, &order).await?;
    commit(transaction).await
}

/// Counts and writes in one statement, upon the stock's lock: nobody takes anything in between.
async fn recount(inventory: &Database, sku: &String) -> Result<()> {
    let mut connection = inventory.connection().await?;
    let transaction = begin(&mut connection).await?;
    execute(&transaction, "SELECT FROM stock WHERE sku = $1 FOR UPDATE", &[sku]).await?;
    let count = "UPDATE stock SET version = version + 1, available = received -
                    (SELECT coalesce(sum(quantity), 0) FROM reservations WHERE sku = $1 AND state = 'RESERVED')
                 WHERE sku = $1";
    execute(&transaction, count, &[sku]).await?;
    commit(transaction).await
}

/// The service notices the positions that moved.
async fn replay(history: &Database) -> Result<()> {
    let mut connection = history.connection().await?;
    let transaction = begin(&mut connection).await?;
    rewind(&transaction).await?;
    execute(&transaction, "DELETE FROM orders", &[]).await?;
    execute(&transaction, "DELETE FROM events", &[]).await?;
    commit(transaction).await
}
