//! The transactional ids of one partition of `__transaction_state`: the pure core of the transaction coordinator.
//!
//! Events come in with a `Moment` and leave `Action`s behind. What an event decides holds for the next one at once;
//! answers wait for its record. A request that comes while markers are being written waits for them, where Kafka would
//! have it come again: they take a millisecond, and clients that are told to come again wait for longer.
//!
//! Invariants: the schedule holds each id's next deadline; the epoch of an id never goes back, unless its producer id
//! is replaced; an id whose fate is decided goes on only once all its markers are written.

mod adding;
mod ending;
mod initializing;
mod looking;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

pub(crate) use looking::Listed;

use super::action::{Action, Answer, Effect, Markers, Persist, Then};
use super::event::{Init, MarkersWritten};
use super::limits::TransactionLimits;
use super::record_codec::TransactionRecord;
use super::state::TransactionState;
use super::transaction::{Transaction, Waiting};
use crate::hosting::moment::{Moment, MonotonicMs};

/// How long markers that could not be written are left alone.
const MARKERS_RETRY: Duration = Duration::from_secs(1);

/// The transactional ids of one partition of `__transaction_state`.
#[derive(Debug)]
pub(crate) struct TransactionShard {
    limits: Arc<TransactionLimits>,
    /// By transactional id.
    transactions: BTreeMap<Arc<str>, Transaction>,
    schedule: BTreeSet<(MonotonicMs, Arc<str>)>,
    /// Number of the last record given out.
    last_number: u64,
    /// Number of the last attempt to write markers.
    last_attempt: u64,
}

impl TransactionShard {
    /// A shard without transactional ids.
    pub(crate) fn new(limits: Arc<TransactionLimits>) -> Self {
        Self { limits, transactions: BTreeMap::new(), schedule: BTreeSet::new(), last_number: 0, last_attempt: 0 }
    }

    /// A record is durable, and so is everything given out before it.
    pub(crate) fn persisted(&mut self, persist: Persist, actions: &mut Vec<Action>) {
        let Persist { transactional_id, number, record, then } = persist;
        // Even if the id is not known any more, as at a stop: what is durable is true.
        if let Then::Answer(waiter, answer) = then {
            actions.push(Action::Answer(waiter, answer));
        }
        let Some(transaction) = self.transactions.get_mut(&transactional_id) else { return };
        transaction.durable_number = number;
        let released = transaction.held.iter().take_while(|(held_for, ..)| *held_for <= number).count();
        let answer = |(_, waiter, answer)| Action::Answer(waiter, answer);
        actions.extend(transaction.held.drain(..released).map(answer));
        if record.value.is_none() && transaction.is_settled() {
            self.forget(&transactional_id);
        } else if then == Then::WriteMarkers {
            self.write_markers(&transactional_id, actions);
        }
    }

    /// A record was not written: answers who waited for it alone.
    pub(crate) fn persist_failed(&mut self, persist: &Persist, error: ErrorCode, actions: &mut Vec<Action>) {
        if let Then::Answer(waiter, _) = persist.then {
            actions.push(Action::Answer(waiter, Answer::Refused(error)));
        }
    }

    /// The markers of a transaction are written and durable, or some could not be: those are tried again later.
    pub(crate) fn markers_written(&mut self, written: MarkersWritten, now: Moment, actions: &mut Vec<Action>) {
        let MarkersWritten { transactional_id, attempt, missing } = written;
        let Some(transaction) = self.transactions.get_mut(&transactional_id) else { return };
        if transaction.attempt.take_if(|under_way| *under_way == attempt).is_none() {
            return;
        }
        if missing.is_empty() {
            self.complete(&transactional_id, now, actions);
            return;
        }
        transaction.partitions = missing.into_iter().map(|partition| (partition, 0)).collect();
        transaction.due_at = Some(now.monotonic.after(MARKERS_RETRY));
        for waiting in std::mem::take(&mut transaction.waiting) {
            let (Waiting::End(waiter) | Waiting::Init(Init { waiter, .. })) = waiting;
            actions.push(Action::Answer(waiter, Answer::Refused(ErrorCode::ConcurrentTransactions)));
        }
        self.schedule(&transactional_id);
    }

    /// Does what is due by now. Calling it early does nothing.
    pub(crate) fn tick(&mut self, now: Moment, actions: &mut Vec<Action>) {
        while let Some((_, transactional_id)) = self.schedule.first().filter(|(due, _)| *due <= now.monotonic).cloned()
        {
            let Some(transaction) = self.transactions.get_mut(&transactional_id) else {
                self.schedule.pop_first();
                continue;
            };
            transaction.due_at = None;
            if transaction.state.is_prepared() {
                self.write_markers(&transactional_id, actions);
                self.schedule(&transactional_id);
            } else {
                tracing::info!(
                    %transactional_id, producer_id = transaction.producer_id, timeout_ms = transaction.timeout_ms,
                    "a transaction is aborted: it was open for longer than its timeout"
                );
                self.fence(&transactional_id, now, actions);
            }
        }
    }

    /// When [`TransactionShard::tick`] is next to be called. Ask again after every event.
    pub(crate) fn next_deadline(&self) -> Option<MonotonicMs> {
        self.schedule.first().map(|(due, _)| *due)
    }

    /// Answers everyone who waits, and forgets everything.
    pub(crate) fn unload(&mut self, error: ErrorCode, actions: &mut Vec<Action>) {
        for transaction in std::mem::take(&mut self.transactions).into_values() {
            let held = transaction.held.into_iter().map(|(_, waiter, _)| waiter);
            let waiting = transaction.waiting.into_iter().map(|waiting| match waiting {
                Waiting::End(waiter) => waiter,
                Waiting::Init(init) => init.waiter,
            });
            let refuse = |waiter| Action::Answer(waiter, Answer::Refused(error));
            actions.extend(held.chain(waiting).map(refuse));
        }
        self.schedule.clear();
    }

    /// Aborts the open transaction against its producer.
    fn fence(&mut self, transactional_id: &Arc<str>, now: Moment, actions: &mut Vec<Action>) {
        if let Some(transaction) = self.transactions.get_mut(transactional_id) {
            transaction.fence(now);
            self.write(transactional_id, Then::WriteMarkers, actions);
        }
    }

    /// All markers are written: what was decided has come true. That need not be durable before anyone hears of it:
    /// what was decided is, and to write the markers again does no harm.
    fn complete(&mut self, transactional_id: &Arc<str>, now: Moment, actions: &mut Vec<Action>) {
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        transaction.complete(now);
        let producer = transaction.producer();
        let waiting = std::mem::take(&mut transaction.waiting);
        self.write(transactional_id, Then::Nothing, actions);
        for waiting in waiting {
            match waiting {
                Waiting::End(waiter) => actions.push(Action::Answer(waiter, Answer::Producer(producer))),
                Waiting::Init(init) => self.init(transactional_id, init, now, actions),
            }
        }
    }

    /// Writes down how an id stands.
    fn write(&mut self, transactional_id: &Arc<str>, then: Then, actions: &mut Vec<Action>) {
        self.last_number += 1;
        let number = self.last_number;
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        transaction.last_number = number;
        let id = Arc::clone(transactional_id);
        let record = TransactionRecord { transactional_id: Arc::clone(&id), value: Some(transaction.value()) };
        actions.push(Action::Persist(Persist { transactional_id: id, number, record, then }));
        self.schedule(transactional_id);
    }

    /// Asks for the markers of a transaction whose fate is durable.
    fn write_markers(&mut self, transactional_id: &Arc<str>, actions: &mut Vec<Action>) {
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        self.last_attempt += 1;
        transaction.attempt = Some(self.last_attempt);
        actions.push(Action::Effect(Effect::WriteMarkers(Markers {
            transactional_id: Arc::clone(transactional_id),
            attempt: self.last_attempt,
            producer: transaction.producer(),
            is_epoch_bumped: transaction.bumps_epochs(),
            commit: transaction.state == TransactionState::PrepareCommit,
            partitions: transaction.partitions.keys().cloned().collect(),
        })));
    }

    /// Puts an id where its next deadline is.
    fn schedule(&mut self, transactional_id: &Arc<str>) {
        let Some(transaction) = self.transactions.get_mut(transactional_id) else { return };
        let due_at = transaction.due_at;
        if let Some(before) = std::mem::replace(&mut transaction.scheduled_at, due_at) {
            self.schedule.remove(&(before, Arc::clone(transactional_id)));
        }
        if let Some(due_at) = due_at {
            self.schedule.insert((due_at, Arc::clone(transactional_id)));
        }
    }

    fn forget(&mut self, transactional_id: &Arc<str>) {
        if let Some(transaction) = self.transactions.remove(transactional_id)
            && let Some(scheduled_at) = transaction.scheduled_at
        {
            self.schedule.remove(&(scheduled_at, Arc::clone(transactional_id)));
        }
    }
}
