//! What is compared first: counts, sums and fingerprints of an hour's orders, as each service has them. Pure.

use std::collections::BTreeMap;

/// How many, how much, and which: the fingerprint tells two sets apart that have the same count and sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Aggregate {
    pub(crate) count: i64,
    pub(crate) sum: i64,
    /// The sum of a hash of each record's id and amount, as text: it has more digits than 64 bits hold.
    pub(crate) fingerprint: String,
}

/// One hour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hour {
    /// Orders whose saga has not ended.
    pub(crate) under_way: i64,
    /// Money of confirmed orders: as ordered, as charged, as the history shows it.
    pub(crate) ordered_money: Aggregate,
    pub(crate) charged: Aggregate,
    pub(crate) shown_money: Aggregate,
    /// Stock of confirmed orders, likewise.
    pub(crate) ordered_stock: Aggregate,
    pub(crate) reserved: Aggregate,
    pub(crate) shown_stock: Aggregate,
    /// Cancelled orders: as they are, and as the history shows them.
    pub(crate) cancelled: Aggregate,
    pub(crate) shown_cancelled: Aggregate,
}

/// By the hour since 1970.
pub(crate) type Hours = BTreeMap<i64, Hour>;

impl Hour {
    /// Whether no record of it needs to be looked at.
    pub(crate) fn is_agreed(&self) -> bool {
        self.under_way == 0
            && self.ordered_money == self.charged
            && self.ordered_money == self.shown_money
            && self.ordered_stock == self.reserved
            && self.ordered_stock == self.shown_stock
            && self.cancelled == self.shown_cancelled
    }
}

#[cfg(test)]
mod tests;
