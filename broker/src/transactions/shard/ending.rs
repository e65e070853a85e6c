//! EndTxn: decides a transaction's fate as its producer wishes.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Then};
use super::super::event::{End, Protocol};
use super::super::limits::WAITING_MAX;
use super::super::state::TransactionState;
use super::super::transaction::{Transaction, Waiting};
use super::TransactionShard;
use crate::hosting::moment::Moment;

/// What is to be done about an EndTxn.
enum Next {
    /// Decide it, and write markers.
    Decide,
    /// It has ended so before: the answer was lost.
    Done,
    /// It is ending so.
    Wait,
}

impl TransactionShard {
    /// Answers once all markers are durable, with what the producer is to go on with: INVALID_REQUEST for an id that is
    /// none, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, INVALID_TXN_STATE when there is nothing to end so.
    pub(crate) fn end(&mut self, transactional_id: &Arc<str>, end: &End, now: Moment, actions: &mut Vec<Action>) {
        let refuse = |error| Action::Answer(end.waiter, Answer::Refused(error));
        if transactional_id.is_empty() {
            return actions.push(refuse(ErrorCode::InvalidRequest));
        }
        let Some(transaction) = self.transactions.get_mut(transactional_id) else {
            return actions.push(refuse(ErrorCode::InvalidProducerIdMapping));
        };
        match judge(transaction, end) {
            Err(error) => actions.push(refuse(error)),
            Ok(Next::Done) => actions.push(Action::Answer(end.waiter, Answer::Producer(transaction.producer()))),
            Ok(Next::Wait) if transaction.waiting.len() >= WAITING_MAX => {
                actions.push(refuse(ErrorCode::ConcurrentTransactions));
            }
            Ok(Next::Wait) => transaction.waiting.push(Waiting::End(end.waiter)),
            Ok(Next::Decide) => {
                let needs_id = end.protocol == Protocol::EpochBump && transaction.is_exhausted();
                if needs_id && end.fresh_producer_id.is_none() {
                    return actions.push(Action::Answer(end.waiter, Answer::NeedsProducerId));
                }
                transaction.decide(end.commit, end.protocol, end.fresh_producer_id.filter(|_| needs_id), now);
                transaction.waiting.push(Waiting::End(end.waiter));
                self.write(transactional_id, Then::WriteMarkers, actions);
            }
        }
    }
}

fn judge(transaction: &Transaction, end: &End) -> Result<Next, ErrorCode> {
    use TransactionState::{CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit};
    let bumps_epochs = end.protocol == Protocol::EpochBump;
    let has_ended = !matches!(transaction.state, Empty | Ongoing);
    // An epoch is that of one transaction, so the one before is that of the last one.
    let is_of_last = bumps_epochs && transaction.was_ended_by(end.producer);
    let is_retry = is_of_last && has_ended;
    if !is_retry {
        if transaction.producer_id != end.producer.id && !is_of_last {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        let is_early = bumps_epochs && transaction.state.is_prepared();
        if transaction.epoch != end.producer.epoch || is_early {
            return Err(ErrorCode::ProducerFenced);
        }
    }
    let is_told_before = is_retry || !bumps_epochs;
    match (transaction.state, end.commit) {
        (Ongoing, _) => Ok(Next::Decide),
        (PrepareCommit, true) | (PrepareAbort, false) if is_told_before => Ok(Next::Wait),
        (CompleteCommit, true) | (CompleteAbort, false) if is_told_before => Ok(Next::Done),
        // Nothing was written since: there is nothing to abort, but the epoch is over all the same.
        (Empty | CompleteCommit | CompleteAbort, false) if bumps_epochs && !is_retry => Ok(Next::Decide),
        _ => Err(ErrorCode::InvalidTxnState),
    }
}
