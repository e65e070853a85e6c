//! How many producers a partition remembers: it forgets the longest silent ones, never one with an open transaction.
//!
//! Every producer is forgotten some time after its last batch; the bound is for clients that come with a new id for
//! each batch. Open transactions are the transaction coordinator's to bound.

use std::collections::HashMap;

use super::producer::Producer;

/// Producers above which the longest silent ones are forgotten.
pub(super) const PRODUCERS_MAX: usize = 100_000;
/// The share that is forgotten at once, so that finding them costs each new producer little.
const FORGOTTEN_SHARE: usize = 16;

/// Makes room for one more producer.
pub(super) fn make_room(producers: &mut HashMap<i64, Producer>) {
    if producers.len() < PRODUCERS_MAX {
        return;
    }
    let closed = producers.values().filter(|producer| producer.open_transaction().is_none());
    let mut silent_since: Vec<i64> = closed.map(Producer::last_timestamp).collect();
    let place = (producers.len() / FORGOTTEN_SHARE).min(silent_since.len().saturating_sub(1));
    if !silent_since.is_empty() {
        let newest_forgotten = *silent_since.select_nth_unstable(place).1;
        forget_silent(producers, newest_forgotten);
    }
}

/// Forgets the producers without an open transaction that have not written since `newest_forgotten`, itself included.
pub(super) fn forget_silent(producers: &mut HashMap<i64, Producer>, newest_forgotten: i64) {
    producers
        .retain(|_, producer| producer.open_transaction().is_some() || producer.last_timestamp() > newest_forgotten);
    if producers.len() < producers.capacity() / 4 {
        producers.shrink_to_fit();
    }
}
