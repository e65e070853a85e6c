//! Whether an order's saga went as it must: every event once, in causal order.
//!
//! Pure: events in, verdict out. Events of one order travel on three topics, and a consumer of several topics may be
//! handed them out of order; what is judged is the order of their commits, which the records' timestamps tell.

use super::event::Event;

/// Events of an order that succeeds.
pub(super) const SUCCEEDS: [&str; 4] = ["OrderPlaced", "PaymentCompleted", "StockReserved", "OrderConfirmed"];

/// Events of an order whose payment must be given back.
pub(super) const IS_COMPENSATED: [&str; 5] =
    ["OrderPlaced", "PaymentCompleted", "StockUnavailable", "PaymentRefunded", "OrderCancelled"];

/// What is expected of one order, and what came so far.
#[derive(Debug)]
pub(super) struct SagaCheck {
    order_id: String,
    expected: &'static [&'static str],
    /// Type, commit time in milliseconds, in the order they came.
    seen: Vec<(String, i64)>,
}

impl SagaCheck {
    pub(super) fn new(order_id: String, expected: &'static [&'static str]) -> Self {
        Self { order_id, expected, seen: Vec::new() }
    }

    /// Notes an event, if it is this order's.
    pub(super) fn note(&mut self, event: &Event) {
        if event.key == self.order_id {
            self.seen.push((event.event_type.clone(), event.committed_ms));
        }
    }

    /// Whether as many events came as are expected.
    pub(super) fn is_complete(&self) -> bool {
        self.seen.len() >= self.expected.len()
    }

    /// How many events are expected.
    pub(super) fn expected_count(&self) -> usize {
        self.expected.len()
    }

    /// What is wrong, in words.
    ///
    /// # Errors
    /// When an event is missing, unexpected, repeated or out of order.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let mut by_commit = self.seen.clone();
        by_commit.sort_by_key(|(_, committed_ms)| *committed_ms);
        let types: Vec<&str> = by_commit.iter().map(|(event_type, _)| event_type.as_str()).collect();
        if types == self.expected {
            return Ok(());
        }
        let missing: Vec<&str> = self.expected.iter().copied().filter(|wanted| !types.contains(wanted)).collect();
        let reason = if missing.is_empty() {
            "repeated or out of order".to_owned()
        } else {
            format!("missing {}", missing.join(", "))
        };
        let seen = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
        Err(format!("order {}: {reason}; expected {}, saw {seen}", self.order_id, self.expected.join(", ")))
    }
}

#[cfg(test)]
mod tests;
