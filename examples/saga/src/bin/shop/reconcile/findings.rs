//! What reconciliation can find: which record, who is right about it, and how it is mended.

use std::fmt;

use serde_json::{Value, json};
use uuid::Uuid;

/// The kinds of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A saga has not ended, long after its order was placed.
    SagaStuck,
    /// The same, though it was told to try on before.
    SagaStuckAgain,
    /// A confirmed order that nobody was charged for.
    PaymentMissing,
    /// A cancelled order whose money was not given back.
    PaymentLeft,
    /// Money for an order that does not exist.
    PaymentWithoutOrder,
    /// A confirmed order whose money was refused or given back, or is not its price.
    PaymentContradicts,
    /// A confirmed order that has no stock.
    StockMissing,
    /// A cancelled order whose stock was not put back.
    StockLeft,
    /// Stock for an order that does not exist.
    StockWithoutOrder,
    /// A confirmed order whose stock was refused or put back, or is something else.
    StockContradicts,
    /// What is available is not what was received less what is reserved.
    StockMiscounted,
    /// The history shows an order otherwise than it is, or not at all, or one that does not exist.
    HistoryDiffers,
}

/// How a difference is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repair {
    /// The saga is told to try on.
    Resume,
    /// The saga is told to undo what was done.
    Compensate,
    /// A command, by way of the order service's outbox.
    Charge,
    /// The same.
    Refund,
    /// The same.
    Reserve,
    /// The same.
    Release,
    /// The stock is counted from its reservations.
    Recount,
    /// The history is read from the topics again.
    Replay,
    /// Nothing that a program should decide.
    Person,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) kind: Kind,
    /// The order's id, or the item's name.
    pub(crate) record: Record,
    /// What the source of truth says.
    pub(crate) truth: String,
    /// What the other one says.
    pub(crate) found: String,
    /// What a command needs to know of the order.
    pub(crate) details: Details,
}

/// Which record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Order(Uuid),
    Item(String),
}

/// An order, as the record that is to change has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) customer: String,
    pub(crate) sku: String,
    pub(crate) quantity: i32,
    pub(crate) amount_cents: i64,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::SagaStuck => "saga-stuck",
            Kind::SagaStuckAgain => "saga-stuck-again",
            Kind::PaymentMissing => "payment-missing",
            Kind::PaymentLeft => "payment-left",
            Kind::PaymentWithoutOrder => "payment-without-order",
            Kind::PaymentContradicts => "payment-contradicts",
            Kind::StockMissing => "stock-missing",
            Kind::StockLeft => "stock-left",
            Kind::StockWithoutOrder => "stock-without-order",
            Kind::StockContradicts => "stock-contradicts",
            Kind::StockMiscounted => "stock-miscounted",
            Kind::HistoryDiffers => "history-differs",
        }
    }

    /// Who is right: whether an order exists and how it ended is the order service's word; whether money or stock has
    /// moved is the word of those who move it.
    pub(crate) fn source_of_truth(self) -> &'static str {
        match self {
            Kind::SagaStuck | Kind::SagaStuckAgain => "order service: sagas, saga_log",
            Kind::PaymentMissing | Kind::PaymentLeft | Kind::PaymentWithoutOrder => "order service: orders",
            Kind::PaymentContradicts => "payment service: payments",
            Kind::StockMissing | Kind::StockLeft | Kind::StockWithoutOrder => "order service: orders",
            Kind::StockContradicts => "inventory service: reservations",
            Kind::StockMiscounted => "inventory service: reservations",
            Kind::HistoryDiffers => "order service: orders",
        }
    }

    pub(crate) fn repair(self) -> Repair {
        match self {
            Kind::SagaStuck => Repair::Resume,
            Kind::SagaStuckAgain => Repair::Compensate,
            Kind::PaymentMissing => Repair::Charge,
            Kind::PaymentLeft | Kind::PaymentWithoutOrder => Repair::Refund,
            Kind::StockMissing => Repair::Reserve,
            Kind::StockLeft | Kind::StockWithoutOrder => Repair::Release,
            Kind::StockMiscounted => Repair::Recount,
            Kind::HistoryDiffers => Repair::Replay,
            Kind::PaymentContradicts | Kind::StockContradicts => Repair::Person,
        }
    }
}

impl Repair {
    fn name(self) -> &'static str {
        match self {
            Repair::Resume => "resume the saga",
            Repair::Compensate => "compensate the saga",
            Repair::Charge => "charge",
            Repair::Refund => "refund",
            Repair::Reserve => "reserve",
            Repair::Release => "release",
            Repair::Recount => "count the stock from its reservations",
            Repair::Replay => "replay the history from the topics",
            Repair::Person => "a person must decide",
        }
    }
}

impl Finding {
    /// Whether it is the same difference, whatever has become of it.
    pub(crate) fn is_about(&self, other: &Finding) -> bool {
        self.kind == other.kind && self.record == other.record
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "record": self.record.to_string(),
            "sourceOfTruth": self.kind.source_of_truth(),
            "truth": self.truth,
            "found": self.found,
            "repair": self.kind.repair().name(),
        })
    }
}

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Record::Order(id) => write!(formatter, "{id}"),
            Record::Item(sku) => write!(formatter, "{sku}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { kind, record, truth, found, .. } = self;
        let (name, source, repair) = (kind.name(), kind.source_of_truth(), kind.repair().name());
        write!(formatter, "{name} {record}: {source} says {truth}; found {found}; to mend it: {repair}")
    }
}
