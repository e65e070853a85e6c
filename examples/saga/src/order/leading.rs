//! Carries out what the saga decides: its state, its log and what it publishes, in one transaction.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use deadpool_postgres::Transaction;
use tracing::warn;
use uuid::Uuid;

use super::saga::{Input, Limits, Millis, Moved};
use super::store;
use crate::events::{ORDER_CANCELLED, ORDER_CONFIRMED, Order};
use crate::messaging::{Event, React};
use crate::outbox;

/// Listens to the answers of the other services.
pub(super) struct Leader {
    pub(super) limits: Limits,
}

impl React for Leader {
    async fn react(&self, transaction: &Transaction<'_>, event: &Event) -> Result<()> {
        let answer: Order = event.payload()?;
        let input = Input::Answer(event.kind, answer.reason.as_deref());
        advance(transaction, answer.order_id, input, &self.limits).await?;
        Ok(())
    }
}

/// What an input led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advanced {
    /// There is no such order.
    Unknown,
    /// It came late, twice, or does not fit: nothing is changed.
    Unchanged,
    /// A new version.
    Changed,
}

/// Gives a saga an input.
pub(super) async fn advance(
    transaction: &Transaction<'_>,
    order_id: Uuid,
    input: Input<'_>,
    limits: &Limits,
) -> Result<Advanced> {
    let Some(stored) = store::load(transaction, order_id).await? else {
        warn!("{input:?} is about order {order_id}, which is not there");
        return Ok(Advanced::Unknown);
    };
    let Some(moved) = stored.saga.apply(input, limits, now()) else { return Ok(Advanced::Unchanged) };
    store::update(transaction, &stored, &moved).await?;
    publish(transaction, &stored.order, &moved).await?;
    Ok(Advanced::Changed)
}

/// Publishes what a saga says, and lets the order say the same.
pub(super) async fn publish(transaction: &Transaction<'_>, order: &Order, moved: &Moved) -> Result<()> {
    let order = Order { style: moved.saga.style, reason: moved.saga.reason.clone(), ..order.clone() };
    for kind in &moved.publish {
        match *kind {
            ORDER_CONFIRMED => store::set_order_state(transaction, &order, "CONFIRMED").await?,
            ORDER_CANCELLED => store::set_order_state(transaction, &order, "CANCELLED").await?,
            _ => (),
        }
        outbox::publish(transaction, *kind, order.order_id, &order).await?;
    }
    if moved.saga.is_parked {
        warn!("the saga of order {} is parked: POST /sagas/{}/resume or …/compensate", order.order_id, order.order_id);
    }
    Ok(())
}

/// Wall time, since a saga outlives the process.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
