//! The shard as the log tells it: records in order, then what was under way goes on.

use std::sync::Arc;
use std::time::Duration;

use super::super::action::Action;
use super::super::record_codec::TransactionRecord;
use super::super::state::TransactionState;
use super::super::transaction::Transaction;
use super::TransactionShard;
use crate::hosting::moment::Moment;

/// How long a transaction that was open at the start is left so, though its timeout is over.
const GRACE: Duration = Duration::from_secs(30);

impl TransactionShard {
    /// Applies one record. The partition's records are to come in offset order, before any event.
    pub(crate) fn replay(&mut self, record: TransactionRecord) {
        match record.value {
            Some(mut value) if value.state != TransactionState::Dead => {
                // The abort that was to follow is not decided yet.
                if value.state == TransactionState::PrepareEpochFence {
                    value.state = TransactionState::Ongoing;
                }
                self.transactions.insert(record.transactional_id, Transaction::from_value(value));
            }
            _ => {
                self.transactions.remove(&record.transactional_id);
            }
        }
    }

    /// All records are applied: open transactions have their deadlines, and markers that may be missing are written. A
    /// producer that could not end its transaction because there was no broker gets some time to do so.
    pub(crate) fn loaded(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let transactional_ids: Vec<Arc<str>> = self.transactions.keys().cloned().collect();
        for transactional_id in transactional_ids {
            let Some(transaction) = self.transactions.get_mut(&transactional_id) else { continue };
            match transaction.state {
                TransactionState::Ongoing => {
                    let timeout = Duration::from_millis(u64::try_from(transaction.timeout_ms).unwrap_or(0));
                    let earliest = now.monotonic.after(timeout.min(GRACE));
                    transaction.due_at = Some(transaction.deadline(now).max(earliest));
                }
                state if state.is_prepared() => self.write_markers(&transactional_id, actions),
                _ => {}
            }
            self.schedule(&transactional_id);
        }
    }
}
