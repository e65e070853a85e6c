//! What the services have of one order, and what is wrong with it.
//!
//! Invariant: judging is pure. Who is right is the kind's [`Kind::source_of_truth`]; an order that may be under way is
//! judged by nobody.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use uuid::Uuid;

use crate::reconcile::findings::{Details, Finding, Kind, Record};
use crate::reconcile::sources::Sources;

/// Of the order service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) state: String,
    /// Empty when there is none.
    pub(crate) saga: String,
    pub(crate) is_parked: bool,
    pub(crate) was_resumed: bool,
    pub(crate) details: Details,
}

/// Of the payment service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) state: String,
    pub(crate) amount_cents: i64,
    pub(crate) customer: String,
}

/// Of the inventory service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) state: String,
    pub(crate) sku: String,
    pub(crate) quantity: i32,
}

/// Of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) state: String,
    pub(crate) quantity: i32,
    pub(crate) amount_cents: i64,
}

/// What every service has of one order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) order: Option<Order>,
    pub(crate) payment: Option<Payment>,
    pub(crate) reservation: Option<Reservation>,
    pub(crate) shown: Option<Shown>,
}

/// One item of the inventory service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StockCount {
    pub(crate) sku: String,
    /// All that was ever put in.
    pub(crate) received: i64,
    pub(crate) available: i64,
    /// The sum of its reservations.
    pub(crate) reserved: i64,
}

/// Everything that is wrong with the orders of an hour.
///
/// # Errors
/// When a database refuses or does not answer in time.
pub(crate) async fn compare(sources: &Sources, hour: i64) -> Result<Vec<Finding>> {
    let records = sources.records(hour).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.saturating_sub(sources.settle);
    let settled_ms = i64::try_from(now.as_millis())?;
    Ok(records.iter().flat_map(|(id, records)| records.judge(*id, settled_ms)).collect())
}

/// Every item whose count is wrong.
///
/// # Errors
/// When the database refuses or does not answer in time.
pub(crate) async fn compare_stock(sources: &Sources) -> Result<Vec<Finding>> {
    Ok(sources.stock().await?.into_iter().filter_map(StockCount::judge).collect())
}

impl StockCount {
    fn judge(self) -> Option<Finding> {
        let StockCount { sku, received, available, reserved } = self;
        let right = received - reserved;
        (available != right).then(|| Finding {
            kind: Kind::StockMiscounted,
            truth: format!("{received} received less {reserved} reserved are {right}"),
            found: format!("{available} available"),
            details: Details { sku: sku.clone(), ..Details::default() },
            record: Record::Item(sku),
        })
    }
}

/// What somebody wants to be told of an order.
struct Told<'a> {
    id: Uuid,
    details: Details,
    records: &'a Records,
}

impl Records {
    /// `settled_ms`: orders placed before, in milliseconds since 1970, are not under way any more.
    pub(crate) fn judge(&self, id: Uuid, settled_ms: i64) -> Vec<Finding> {
        if placed_ms(id) >= settled_ms {
            return Vec::new();
        }
        let Some(order) = &self.order else { return self.without_order(id) };
        let told = Told { id, details: order.details.clone(), records: self };
        if !["COMPLETED", "COMPENSATED", "ABORTED"].contains(&order.saga.as_str()) {
            let kind = if order.was_resumed { Kind::SagaStuckAgain } else { Kind::SagaStuck };
            let parked = if order.is_parked { ", parked" } else { "" };
            return vec![told.finding(kind, "every saga ends", &format!("{}{parked}", order.saga))];
        }
        let mut findings = match order.state.as_str() {
            "CONFIRMED" => told.confirmed(order),
            _ => told.cancelled(),
        };
        findings.extend(told.shown(order));
        findings
    }

    fn without_order(&self, id: Uuid) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut told = Told { id, details: Details { quantity: 1, ..Details::default() }, records: self };
        if let Some(payment) = self.payment.as_ref().filter(|payment| payment.state == "COMPLETED") {
            told.details.customer.clone_from(&payment.customer);
            told.details.amount_cents = payment.amount_cents;
            let found = format!("{} cents {}", payment.amount_cents, payment.state);
            findings.push(told.finding(Kind::PaymentWithoutOrder, "there is no such order", &found));
        }
        if let Some(reservation) = self.reservation.as_ref().filter(|reservation| reservation.state == "RESERVED") {
            told.details.sku.clone_from(&reservation.sku);
            told.details.quantity = reservation.quantity;
            let found = format!("{} {} {}", reservation.quantity, reservation.sku, reservation.state);
            findings.push(told.finding(Kind::StockWithoutOrder, "there is no such order", &found));
        }
        if let Some(shown) = &self.shown {
            findings.push(told.finding(Kind::HistoryDiffers, "there is no such order", &shown.state));
        }
        findings
    }
}

impl Told<'_> {
    fn finding(&self, kind: Kind, truth: &str, found: &str) -> Finding {
        let (truth, found) = (truth.to_owned(), found.to_owned());
        Finding { kind, record: Record::Order(self.id), truth, found, details: self.details.clone() }
    }

    fn confirmed(&self, order: &Order) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Details { sku, quantity, amount_cents, .. } = &order.details;
        match &self.records.payment {
            None => {
                findings.push(self.finding(
                    Kind::PaymentMissing,
                    &format!("CONFIRMED, {amount_cents} cents"),
                    "nothing",
                ));
            }
            Some(payment) if payment.state == "COMPLETED" && payment.amount_cents == *amount_cents => (),
            Some(payment) => {
                let truth = format!("{} cents {}", payment.amount_cents, payment.state);
                let found = format!("an order CONFIRMED over {amount_cents} cents");
                findings.push(self.finding(Kind::PaymentContradicts, &truth, &found));
            }
        }
        match &self.records.reservation {
            None => findings.push(self.finding(Kind::StockMissing, &format!("CONFIRMED, {quantity} {sku}"), "nothing")),
            Some(reservation)
                if (reservation.state.as_str(), &reservation.sku, reservation.quantity)
                    == ("RESERVED", sku, *quantity) => {}
            Some(reservation) => {
                let truth = format!("{} {} {}", reservation.quantity, reservation.sku, reservation.state);
                let found = format!("an order CONFIRMED for {quantity} {sku}");
                findings.push(self.finding(Kind::StockContradicts, &truth, &found));
            }
        }
        findings
    }

    fn cancelled(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(payment) = self.records.payment.as_ref().filter(|payment| payment.state == "COMPLETED") {
            let found = format!("{} cents {}", payment.amount_cents, payment.state);
            findings.push(self.finding(Kind::PaymentLeft, "CANCELLED", &found));
        }
        let reserved = |reservation: &&Reservation| reservation.state == "RESERVED";
        if let Some(reservation) = self.records.reservation.as_ref().filter(reserved) {
            let found = format!("{} {} {}", reservation.quantity, reservation.sku, reservation.state);
            let mut finding = self.finding(Kind::StockLeft, "CANCELLED", &found);
            // What is put back is what was taken.
            finding.details.sku.clone_from(&reservation.sku);
            finding.details.quantity = reservation.quantity;
            findings.push(finding);
        }
        findings
    }

    fn shown(&self, order: &Order) -> Option<Finding> {
        let Details { quantity, amount_cents, .. } = order.details;
        let say = |state: &str, quantity: i32, cents: i64| format!("{state}, {quantity} for {cents} cents");
        let truth = say(&order.state, quantity, amount_cents);
        let found = match &self.records.shown {
            None => "nothing".to_owned(),
            Some(shown) => say(&shown.state, shown.quantity, shown.amount_cents),
        };
        (truth != found).then(|| self.finding(Kind::HistoryDiffers, &truth, &found))
    }
}

/// When the order was placed: its id is a UUIDv7.
fn placed_ms(id: Uuid) -> i64 {
    i64::try_from(id.as_u128() >> 80).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
