//! The events of the saga: their names, the topics they travel on, and what they carry.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What happened. The name is the outbox column and record header `type`; the aggregate type decides the topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// A customer ordered; nothing is paid or reserved yet.
    OrderPlaced,
    /// The saga ended well.
    OrderConfirmed,
    /// The saga ended, and whatever had been done was undone.
    OrderCancelled,
    /// The customer has been charged.
    PaymentCompleted,
    /// The customer has not been charged.
    PaymentDeclined,
    /// The compensation of [`EventType::PaymentCompleted`].
    PaymentRefunded,
    /// The stock has been taken for the order.
    StockReserved,
    /// There was not enough stock; nothing has been taken.
    StockUnavailable,
}

impl EventType {
    const ALL: [EventType; 8] = [
        EventType::OrderPlaced,
        EventType::OrderConfirmed,
        EventType::OrderCancelled,
        EventType::PaymentCompleted,
        EventType::PaymentDeclined,
        EventType::PaymentRefunded,
        EventType::StockReserved,
        EventType::StockUnavailable,
    ];

    /// The type of that name; `None` for one this version of the service does not know.
    pub fn named(name: &str) -> Option<EventType> {
        EventType::ALL.into_iter().find(|event_type| event_type.name() == name)
    }

    /// The name as other services know it.
    pub fn name(self) -> &'static str {
        match self {
            EventType::OrderPlaced => "OrderPlaced",
            EventType::OrderConfirmed => "OrderConfirmed",
            EventType::OrderCancelled => "OrderCancelled",
            EventType::PaymentCompleted => "PaymentCompleted",
            EventType::PaymentDeclined => "PaymentDeclined",
            EventType::PaymentRefunded => "PaymentRefunded",
            EventType::StockReserved => "StockReserved",
            EventType::StockUnavailable => "StockUnavailable",
        }
    }

    /// The outbox column `aggregatetype`: whose event it is.
    pub fn aggregate_type(self) -> &'static str {
        match self {
            EventType::OrderPlaced | EventType::OrderConfirmed | EventType::OrderCancelled => "order",
            EventType::PaymentCompleted | EventType::PaymentDeclined | EventType::PaymentRefunded => "payment",
            EventType::StockReserved | EventType::StockUnavailable => "stock",
        }
    }

    /// The topic the connector publishes the event to: the outbox event router's default name.
    pub fn topic(self) -> String {
        format!("outbox.event.{}", self.aggregate_type())
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

/// An event as a service receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The outbox row's id, from the record header `id`: the same at every delivery.
    pub id: Uuid,
    /// What happened.
    pub event_type: EventType,
    /// The order it happened to.
    pub order: Order,
}

#[cfg(test)]
mod tests;
