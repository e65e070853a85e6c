//! Which batches are of aborted transactions, and which markers have nothing left to say.
//!
//! A cleaning shows every batch of the log, in order. A data batch of an aborted transaction is removed. A marker may
//! go when no batch of its transaction was met before it; [`super::filter`] then still waits for the delete horizon.
//! So a marker outlives its transaction's data by one cleaning and `delete.retention.ms`. Invariant: a batch is called
//! aborted only when it lies between the first offset and the marker of an aborted transaction of its producer.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use pillion_wire::records::{BatchHeader, RecordView};

use crate::log::format::transaction_index::AbortedTransaction;

/// What a control batch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// The transaction is to be seen.
    Commit,
    /// It is not.
    Abort,
    /// Something else, as Raft's own control records, which stays.
    Other,
    /// An earlier cleaning has removed the record.
    Removed,
}

impl Marker {
    /// The marker whose record is `record`: its key is int16 version, int16 type (0 abort, 1 commit).
    pub(crate) fn of(record: Option<&RecordView<'_>>) -> Self {
        let Some(record) = record else { return Self::Removed };
        match record.key {
            Some([_, _, 0, 0, ..]) => Self::Abort,
            Some([_, _, 0, 1, ..]) => Self::Commit,
            _ => Self::Other,
        }
    }
}

/// The transactions under way where a cleaning stands.
#[derive(Debug, Default)]
pub(crate) struct CleanedTransactions {
    /// Aborted transactions that begin further on, by first offset and producer.
    ahead: BTreeMap<(i64, i64), AbortedTransaction>,
    /// By producer: its aborted transaction under way, and whether a batch of it was met.
    aborted: HashMap<i64, (AbortedTransaction, bool)>,
    /// Producers of whose transaction, not aborted, a batch was met.
    committed: HashSet<i64>,
    /// Aborted transactions whose marker stays and of which a batch was met.
    retained: Vec<AbortedTransaction>,
}

impl CleanedTransactions {
    /// Makes aborted transactions known, before the first batch that they could hold; one may be given twice.
    pub(crate) fn add_aborted(&mut self, transactions: impl IntoIterator<Item = AbortedTransaction>) {
        self.ahead
            .extend(transactions.into_iter().map(|aborted| ((aborted.first_offset, aborted.producer_id), aborted)));
    }

    /// Takes a data batch into account; answers whether it is of an aborted transaction, and goes.
    pub(crate) fn data_batch(&mut self, header: &BatchHeader) -> bool {
        self.begin_up_to(header);
        if !header.is_transactional() {
            return false;
        }
        match self.aborted.get_mut(&header.producer_id) {
            Some((transaction, met)) if header.last_offset() < transaction.last_offset => {
                *met = true;
                true
            }
            _ => {
                self.committed.insert(header.producer_id);
                false
            }
        }
    }

    /// Takes a control batch into account; answers whether it may go, once its delete horizon has passed.
    pub(crate) fn control_batch(&mut self, header: &BatchHeader, marker: Marker) -> bool {
        self.begin_up_to(header);
        match marker {
            Marker::Removed => true,
            Marker::Other => false,
            Marker::Commit => !self.committed.remove(&header.producer_id),
            Marker::Abort => {
                let transaction = self.aborted.remove(&header.producer_id).filter(|(_, met)| *met);
                self.retained.extend(transaction.map(|(transaction, _)| transaction));
                transaction.is_none()
            }
        }
    }

    /// The entries for the transaction index of the segment written since the last call, in order of their markers.
    pub(crate) fn take_retained(&mut self) -> Vec<AbortedTransaction> {
        std::mem::take(&mut self.retained)
    }

    /// Lets the aborted transactions begin whose first offset is in or before the batch. One given again by a later
    /// segment than it ended in does no harm: it holds no batch any more.
    fn begin_up_to(&mut self, header: &BatchHeader) {
        while let Some(entry) = self.ahead.first_entry()
            && entry.key().0 <= header.last_offset()
        {
            let transaction = entry.remove();
            let (current, met) = self.aborted.entry(transaction.producer_id).or_insert((transaction, false));
            if current.last_offset < transaction.first_offset {
                (*current, *met) = (transaction, false);
            }
        }
    }
}
