//! What administrators ask, and ids that are forgotten.

use std::sync::Arc;

use super::super::action::{Action, Persist, Then};
use super::super::record_codec::{TransactionRecord, TransactionValue};
use super::super::state::TransactionState;
use super::super::transaction::Transaction;
use super::TransactionShard;
use crate::hosting::moment::Moment;

/// Ids forgotten at one look; the next one goes on.
const FORGOTTEN_MAX: usize = 1_000;

/// An id as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The transactional id.
    pub(crate) transactional_id: Arc<str>,
    /// Its producer's id.
    pub(crate) producer_id: i64,
    /// Its state.
    pub(crate) state: TransactionState,
    /// Milliseconds since its last transaction began.
    pub(crate) lasted_ms: i64,
}

impl TransactionShard {
    /// How an id stands; `None` for one nobody has used.
    pub(crate) fn describe(&self, transactional_id: &str) -> Option<TransactionValue> {
        Some(self.transactions.get(transactional_id)?.value())
    }

    /// All ids. `wall_ms` is the time, in milliseconds since the Unix epoch.
    pub(crate) fn list(&self, wall_ms: i64) -> Vec<Listed> {
        let listed = self.transactions.iter().map(|(transactional_id, transaction)| Listed {
            transactional_id: Arc::clone(transactional_id),
            producer_id: transaction.producer_id,
            state: transaction.state,
            lasted_ms: transaction.lasted_ms(wall_ms),
        });
        listed.collect()
    }

    /// Whether what is known of an id, or of all, may not be durable yet.
    pub(crate) fn is_write_under_way(&self, transactional_id: Option<&str>) -> bool {
        match transactional_id {
            Some(id) => self.transactions.get(id).is_some_and(|transaction| !transaction.is_settled()),
            None => self.transactions.values().any(|transaction| !transaction.is_settled()),
        }
    }

    /// Forgets ids that nothing was heard of for `transactional.id.expiration.ms`.
    pub(crate) fn expire(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let expiration_ms = i64::try_from(self.limits.id_expiration.as_millis()).unwrap_or(i64::MAX);
        let oldest_kept = now.wall_ms.saturating_sub(expiration_ms);
        let is_expired = |transaction: &Transaction| {
            transaction.state.is_idle() && transaction.is_settled() && transaction.updated_ms <= oldest_kept
        };
        let expired = self.transactions.iter().filter(|(_, transaction)| is_expired(transaction));
        let expired: Vec<Arc<str>> = expired.map(|(id, _)| Arc::clone(id)).take(FORGOTTEN_MAX).collect();
        for transactional_id in expired {
            self.last_number += 1;
            let number = self.last_number;
            if let Some(transaction) = self.transactions.get_mut(&transactional_id) {
                transaction.last_number = number;
            }
            let record = TransactionRecord { transactional_id: Arc::clone(&transactional_id), value: None };
            actions.push(Action::Persist(Persist { transactional_id, number, record, then: Then::Nothing }));
        }
    }
}
