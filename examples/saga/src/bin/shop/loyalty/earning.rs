//! What earns points. Pure: an event of another service in, points out.

use anyhow::Result;
use pillion_saga::events::MAIL_SENT;
use pillion_saga::loyalty::{CUSTOMER_REGISTERED, CustomerRegistered};
use pillion_saga::messaging::{Event, EventKind};
use serde::Deserialize;
use uuid::Uuid;

/// The events.
pub(crate) const EVENTS: [EventKind; 2] = [CUSTOMER_REGISTERED, MAIL_SENT];

/// A customer who registers gets these.
const WELCOME: i64 = 100;

/// One point for so many cents of an order that is done: the mail is a saga's last step, which nothing undoes.
const CENTS_PER_POINT: i64 = 100;

/// Points somebody is to have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Earned {
    /// What they are for: one cause grants once, however often it is told. Not the event's id, for a service that hears
    /// no answer says the same again in a new event.
    pub(crate) cause: Uuid,
    pub(crate) customer: String,
    /// Not negative.
    pub(crate) points: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MailSent {
    order_id: Uuid,
    customer: String,
    amount_cents: i64,
}

/// The points an event is worth; `None` for one that is worth nothing.
///
/// # Errors
/// When the event is not what its type says.
pub(crate) fn earned(event: &Event) -> Result<Option<Earned>> {
    if event.kind == CUSTOMER_REGISTERED {
        let registered: CustomerRegistered = event.payload()?;
        let customer = registered.customer_id.to_string();
        return Ok(Some(Earned { cause: registered.customer_id, customer, points: WELCOME }));
    }
    let order: MailSent = event.payload()?;
    let points = order.amount_cents.max(0) / CENTS_PER_POINT;
    Ok((points > 0).then_some(Earned { cause: order.order_id, customer: order.customer, points }))
}
