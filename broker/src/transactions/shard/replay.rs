//! The shard as the log tells it: records in order, then what was under way goes on.

use std::sync::Arc;

use super::super::action::Action;
use super::super::record_codec::TransactionRecord;
use super::super::state::TransactionState;
use super::super::transaction::Transaction;
use super::TransactionShard;
use crate::hosting::moment::Moment;

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

    /// All records are applied: open transactions have their deadlines, and markers that may be missing are written.
    pub(crate) fn loaded(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let transactional_ids: Vec<Arc<str>> = self.transactions.keys().cloned().collect();
        for transactional_id in transactional_ids {
            let Some(transaction) = self.transactions.get_mut(&transactional_id) else { continue };
            match transaction.state {
                TransactionState::Ongoing => {
                    transaction.due_at = Some(transaction.deadline(now));
                }
                state if state.is_prepared() => self.write_markers(&transactional_id, actions),
                _ => {}
            }
            self.schedule(&transactional_id);
        }
    }
}
