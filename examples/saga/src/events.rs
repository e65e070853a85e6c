//! The events and commands of the saga, and what they carry.
//!
//! An *event* tells what happened, on its owner's topic; whoever is interested reacts. A *command* asks one service for
//! one step, on that service's own topic; it answers with an event.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::messaging::EventKind;

/// A customer ordered; nothing is paid or reserved yet.
pub const ORDER_PLACED: EventKind = EventKind::new("order", "OrderPlaced");
/// Paid and reserved.
pub const ORDER_CONFIRMED: EventKind = EventKind::new("order", "OrderConfirmed");
/// The saga ended, and whatever had been done was undone.
pub const ORDER_CANCELLED: EventKind = EventKind::new("order", "OrderCancelled");

/// The customer has been charged.
pub const PAYMENT_COMPLETED: EventKind = EventKind::new("payment", "PaymentCompleted");
/// The customer has not been charged.
pub const PAYMENT_DECLINED: EventKind = EventKind::new("payment", "PaymentDeclined");
/// The compensation of [`PAYMENT_COMPLETED`].
pub const PAYMENT_REFUNDED: EventKind = EventKind::new("payment", "PaymentRefunded");

/// The stock has been taken for the order.
pub const STOCK_RESERVED: EventKind = EventKind::new("stock", "StockReserved");
/// There was not enough stock; nothing has been taken.
pub const STOCK_UNAVAILABLE: EventKind = EventKind::new("stock", "StockUnavailable");
/// The compensation of [`STOCK_RESERVED`].
pub const STOCK_RELEASED: EventKind = EventKind::new("stock", "StockReleased");

/// The customer has been written to.
pub const MAIL_SENT: EventKind = EventKind::new("mail", "MailSent");
/// The customer cannot be written to, now or ever.
pub const MAIL_REFUSED: EventKind = EventKind::new("mail", "MailRefused");

/// Answered by [`PAYMENT_COMPLETED`] or [`PAYMENT_DECLINED`].
pub const CHARGE_PAYMENT: EventKind = EventKind::new("payment-command", "ChargePayment");
/// Answered by [`PAYMENT_REFUNDED`].
pub const REFUND_PAYMENT: EventKind = EventKind::new("payment-command", "RefundPayment");
/// Answered by [`STOCK_RESERVED`] or [`STOCK_UNAVAILABLE`].
pub const RESERVE_STOCK: EventKind = EventKind::new("stock-command", "ReserveStock");
/// Answered by [`STOCK_RELEASED`].
pub const RELEASE_STOCK: EventKind = EventKind::new("stock-command", "ReleaseStock");
/// Answered by [`MAIL_SENT`] or [`MAIL_REFUSED`].
pub const SEND_MAIL: EventKind = EventKind::new("mail-command", "SendMail");

/// Who leads the saga of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// Nobody: each service reacts to the events of the others.
    #[default]
    Choreographed,
    /// The order service: it asks for one step after another.
    Orchestrated,
}

impl Style {
    /// As in JSON and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Style::Choreographed => "choreographed",
            Style::Orchestrated => "orchestrated",
        }
    }
}

/// What every event of the saga carries: the order it is about, so that no service has to ask another one for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The aggregate id, and so the record's key: the events of one order stay in order.
    pub order_id: Uuid,
    /// Who ordered.
    pub customer: String,
    /// What was ordered.
    pub sku: String,
    /// How many, at least 1.
    pub quantity: i32,
    /// The price of it all, in cents, not negative.
    pub amount_cents: i64,
    /// Who leads the saga. Services react to each other's events only for the choreographed ones.
    #[serde(default)]
    pub style: Style,
    /// Why a step of the saga did not succeed; absent while all goes well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Order {
    /// The same order, with the reason why it cannot go on.
    #[must_use]
    pub fn because(&self, reason: impl Into<String>) -> Order {
        Order { reason: Some(reason.into()), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
