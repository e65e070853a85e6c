//! InitProducerId: gives a transactional id to a producer, and ends what another one left open.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Then};
use super::super::event::{Init, ProducerIdentity};
use super::super::limits::{TRANSACTIONAL_ID_BYTES_MAX, TRANSACTIONS_PER_SHARD_MAX, WAITING_MAX};
use super::super::state::TransactionState;
use super::super::transaction::{Transaction, Waiting};
use super::TransactionShard;
use crate::hosting::moment::Moment;

/// What is to be done about an InitProducerId.
enum Next {
    /// The id has not been used.
    Create,
    /// Its last transaction has ended.
    HandOver,
    /// A transaction is open.
    Fence,
    /// One is ending.
    Wait,
}

impl TransactionShard {
    /// Answers with the producer's id and epoch once those are durable: INVALID_REQUEST for an id that is none,
    /// INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED for a producer that recovers and has been replaced.
    ///
    /// A transaction left open is aborted first.
    pub(crate) fn init(&mut self, transactional_id: &Arc<str>, init: Init, now: Moment, actions: &mut Vec<Action>) {
        let waiter = init.waiter;
        let next = match self.judge_init(transactional_id, &init) {
            Ok(next) => next,
            Err(error) => return actions.push(Action::Answer(waiter, Answer::Refused(error))),
        };
        match (next, init.fresh_producer_id) {
            (Next::Create, None) => actions.push(Action::Answer(waiter, Answer::NeedsProducerId)),
            (Next::Create, Some(fresh_producer_id)) => {
                let transaction = Transaction::new(fresh_producer_id, init.timeout_ms);
                self.transactions.insert(Arc::clone(transactional_id), transaction);
                self.hand_over(transactional_id, &init, None, now, actions);
            }
            (Next::HandOver, fresh_producer_id) => {
                let transaction = self.transactions.get(transactional_id);
                let needs_id = transaction.is_some_and(|transaction| transaction.needs_producer_id(init.current));
                if needs_id && fresh_producer_id.is_none() {
                    return actions.push(Action::Answer(waiter, Answer::NeedsProducerId));
                }
                self.hand_over(transactional_id, &init, fresh_producer_id.filter(|_| needs_id), now, actions);
            }
            (Next::Fence, _) => {
                self.fence(transactional_id, now, actions);
                if let Some(transaction) = self.transactions.get_mut(transactional_id) {
                    transaction.waiting.push(Waiting::Init(init));
                }
            }
            (Next::Wait, _) => match self.transactions.get_mut(transactional_id) {
                Some(transaction) if transaction.waiting.len() < WAITING_MAX => {
                    transaction.waiting.push(Waiting::Init(init));
                }
                _ => actions.push(Action::Answer(waiter, Answer::Refused(ErrorCode::ConcurrentTransactions))),
            },
        }
    }

    fn judge_init(&self, transactional_id: &str, init: &Init) -> Result<Next, ErrorCode> {
        if transactional_id.is_empty() || transactional_id.len() > TRANSACTIONAL_ID_BYTES_MAX {
            return Err(ErrorCode::InvalidRequest);
        }
        let timeout_ms = u128::try_from(init.timeout_ms).unwrap_or(0);
        if timeout_ms == 0 || timeout_ms > self.limits.timeout_max.as_millis() {
            return Err(ErrorCode::InvalidTransactionTimeout);
        }
        let Some(transaction) = self.transactions.get(transactional_id) else {
            let is_full = self.transactions.len() >= TRANSACTIONS_PER_SHARD_MAX;
            return if is_full { Err(ErrorCode::CoordinatorNotAvailable) } else { Ok(Next::Create) };
        };
        if init.current.is_some_and(|current| !transaction.is_recoverable_by(current)) {
            return Err(ErrorCode::ProducerFenced);
        }
        match transaction.state {
            TransactionState::Ongoing => Ok(Next::Fence),
            state if state.is_prepared() => Ok(Next::Wait),
            _ => Ok(Next::HandOver),
        }
    }

    fn hand_over(
        &mut self,
        transactional_id: &Arc<str>,
        init: &Init,
        fresh_producer_id: Option<i64>,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        transaction.hand_over(init, fresh_producer_id, now);
        let producer: ProducerIdentity = transaction.producer();
        self.write(transactional_id, Then::Answer(init.waiter, Answer::Producer(producer)), actions);
    }
}
