//! Whether an order's saga went as it must: every event as often as expected, in causal order.
//!
//! Pure: events in, verdict out. Events of one order travel on several topics, and a consumer of several topics may be
//! handed them out of order; what is judged is the order of their commits, which the records' timestamps tell.

use std::ops::RangeInclusive;

use super::event::Event;

/// Events of an order that succeeds.
pub(super) const SUCCEEDS: [&str; 5] =
    ["OrderPlaced", "PaymentCompleted", "StockReserved", "OrderConfirmed", "MailSent"];

/// The same where the order service leads, with its commands.
pub(super) const IS_LED: [&str; 8] = [
    "OrderPlaced",
    "ChargePayment",
    "PaymentCompleted",
    "ReserveStock",
    "StockReserved",
    "OrderConfirmed",
    "SendMail",
    "MailSent",
];

/// Events of an order whose payment must be given back.
pub(super) const IS_COMPENSATED: [&str; 5] =
    ["OrderPlaced", "PaymentCompleted", "StockUnavailable", "PaymentRefunded", "OrderCancelled"];

/// The same where the order service leads.
pub(super) const IS_LED_BACK: [&str; 8] = [
    "OrderPlaced",
    "ChargePayment",
    "PaymentCompleted",
    "ReserveStock",
    "StockUnavailable",
    "RefundPayment",
    "PaymentRefunded",
    "OrderCancelled",
];

/// Events of an order that is not paid.
pub(super) const IS_DECLINED: [&str; 3] = ["OrderPlaced", "PaymentDeclined", "OrderCancelled"];

/// What is expected of one order, and what came so far.
#[derive(Debug)]
pub(super) struct SagaCheck {
    order_id: String,
    expected: &'static [&'static str],
    /// How often each of them may come.
    copies: RangeInclusive<usize>,
    /// Type, commit time in milliseconds, in the order they came.
    seen: Vec<(String, i64)>,
}

impl SagaCheck {
    /// Each event once.
    pub(super) fn new(order_id: String, expected: &'static [&'static str]) -> Self {
        Self { order_id, expected, copies: 1..=1, seen: Vec::new() }
    }

    /// Each event as often as this instead.
    pub(super) fn copies(self, copies: RangeInclusive<usize>) -> Self {
        Self { copies, ..self }
    }

    /// Whose saga it is.
    pub(super) fn order_id(&self) -> &str {
        &self.order_id
    }

    /// Notes an event, if it is this order's.
    pub(super) fn note(&mut self, event: &Event) {
        if event.key == self.order_id {
            self.seen.push((event.event_type.clone(), event.committed_ms));
        }
    }

    /// Whether every event came as often as it must.
    pub(super) fn is_complete(&self) -> bool {
        self.expected.iter().all(|wanted| self.count(wanted) >= *self.copies.start())
    }

    /// How many events are expected, copies not counted.
    pub(super) fn expected_count(&self) -> usize {
        self.expected.len()
    }

    /// What is wrong, in words.
    ///
    /// # Errors
    /// When an event is missing, unexpected, repeated or out of order.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let missing: Vec<&str> =
            self.expected.iter().copied().filter(|wanted| self.count(wanted) < *self.copies.start()).collect();
        let has_unexpected = self.seen.iter().any(|(seen, _)| !self.expected.contains(&seen.as_str()));
        let is_repeated = self.expected.iter().any(|wanted| self.count(wanted) > *self.copies.end());
        // Two events of one transaction have one time.
        let is_in_order = self.expected.iter().filter_map(|wanted| self.first_commit(wanted)).is_sorted();
        let reason = if !missing.is_empty() {
            format!("missing {}", missing.join(", "))
        } else if has_unexpected {
            "one too many".to_owned()
        } else if is_repeated || !is_in_order {
            "repeated or out of order".to_owned()
        } else {
            return Ok(());
        };
        let mut by_commit: Vec<&(String, i64)> = self.seen.iter().collect();
        by_commit.sort_by_key(|(_, committed_ms)| *committed_ms);
        let types: Vec<&str> = by_commit.iter().map(|(event_type, _)| event_type.as_str()).collect();
        let seen = if types.is_empty() { "nothing".to_owned() } else { types.join(", ") };
        Err(format!("order {}: {reason}; expected {}, saw {seen}", self.order_id, self.expected.join(", ")))
    }

    fn count(&self, wanted: &str) -> usize {
        self.seen.iter().filter(|(seen, _)| seen == wanted).count()
    }

    fn first_commit(&self, wanted: &str) -> Option<i64> {
        self.seen.iter().filter(|(seen, _)| seen == wanted).map(|(_, committed_ms)| *committed_ms).min()
    }
}

#[cfg(test)]
mod tests;
