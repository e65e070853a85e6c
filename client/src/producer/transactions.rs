//! What a transactional producer asks of its dispatch: begin, release, doom and settle transactions by number.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::accumulator::Slot;
use super::dispatch::{Dispatch, Hurry};
use super::gate::Doomed;
use super::partition::Identity;
use super::request::FIRST_TO_ENLIST;
use super::{DeliveryHandle, ProduceError, Producer, ProducerRecord};
use crate::connection::Pool;
use crate::transaction::AbortCause;

/// Partitions that wait to be added to a transaction.
pub(crate) struct Unenlisted {
    slots: Vec<Slot>,
    /// Their topics and numbers.
    pub(crate) partitions: Vec<(Arc<str>, i32)>,
}

impl Producer {
    /// As [`Producer::send`], into a transaction; `group` holds the records that it waits for when it ends.
    ///
    /// # Errors
    /// As [`Producer::send`]; the transaction is doomed then.
    pub(crate) async fn send_in(
        &self,
        transaction: u64,
        group: &TaskTracker,
        record: ProducerRecord,
    ) -> Result<DeliveryHandle, ProduceError> {
        let sent = self.queue(record, Some((transaction, group))).await;
        if let Err(error) = &sent {
            self.dispatch.fail(transaction, AbortCause::of_record(error));
            self.dispatch.note_seen();
        }
        sent
    }

    /// As [`Producer::send_in`] for many records at a time, whose fate is told by their transaction's alone.
    ///
    /// # Errors
    /// As [`Producer::send`]; the transaction is doomed then.
    pub(crate) async fn send_all_in(
        &self,
        transaction: u64,
        group: &TaskTracker,
        records: Vec<ProducerRecord>,
    ) -> Result<(), ProduceError> {
        let sent = self.queue_all(records, transaction, group).await;
        if let Err(error) = &sent {
            self.dispatch.fail(transaction, AbortCause::of_record(error));
            self.dispatch.note_seen();
        }
        sent
    }

    /// What sends the records.
    pub(crate) fn dispatch(&self) -> &Arc<Dispatch> {
        &self.dispatch
    }
}

impl Dispatch {
    /// The producer's connections.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Begins a transaction and gives its number.
    ///
    /// # Errors
    /// Why an earlier one is aborted, once, unless someone was told already.
    pub(crate) fn begin_transaction(&self) -> Result<u64, Arc<AbortCause>> {
        self.lock().accumulator.gate().begin()
    }

    /// Notes that the caller was told of a failed transaction.
    pub(crate) fn note_seen(&self) {
        self.lock().accumulator.gate().seen();
    }

    /// Lets a transaction's records out under an identity; when `enlisting`, partition by partition as each is added.
    pub(crate) fn release(&self, number: u64, identity: Identity, enlisting: bool) {
        {
            let mut state = self.lock();
            state.accumulator.set_identity(identity);
            state.accumulator.gate().release(number, enlisting);
        }
        self.drive();
    }

    /// Dooms a transaction and those begun behind it.
    pub(crate) fn fail(&self, number: u64, cause: Arc<AbortCause>) {
        self.lock().accumulator.gate().fail(number, &cause);
        self.sweep();
    }

    /// Dooms one transaction, whose caller does not want it.
    pub(crate) fn drop_transaction(&self, number: u64) {
        self.lock().accumulator.gate().drop_one(number);
        self.sweep();
    }

    /// Transactions doomed since the last call.
    pub(crate) fn doomed(&self) -> Vec<Doomed> {
        self.lock().accumulator.gate().news()
    }

    /// Waits until a transaction is doomed or wants partitions added.
    pub(crate) async fn transactions_changed(&self) {
        self.transactions.notified().await;
    }

    /// Whether a record of a transaction may have reached a broker.
    pub(crate) fn has_sent(&self, number: u64) -> bool {
        self.lock().accumulator.gate().has_sent(number)
    }

    /// Partitions with records of the released transaction that it does not include yet.
    pub(crate) fn unenlisted(&self) -> Unenlisted {
        let state = self.lock();
        let slots = state.accumulator.unenlisted();
        let partitions = slots.iter().map(|slot| state.accumulator.name(*slot)).collect();
        Unenlisted { slots, partitions }
    }

    /// Lets the records of partitions out that the transaction includes now.
    pub(crate) fn enlist(&self, added: &Unenlisted) {
        self.lock().accumulator.enlist(&added.slots);
        self.drive();
    }

    /// Sends at once what waits for company, for as long as the answer is held.
    pub(crate) fn hurry(self: &Arc<Self>) -> Hurry {
        self.lock().accumulator.begin_flush();
        let hurry = Hurry(self.clone());
        self.drive();
        hurry
    }

    /// Whether its records belong to transactions.
    pub(super) fn is_transactional(&self) -> bool {
        self.transactional_id.is_some()
    }

    /// Produce versions that mean what the producer wants: from 12 on a broker adds partitions to the transaction.
    pub(super) fn versions(&self) -> (i16, i16) {
        if self.transactional_id.is_none() {
            return (0, i16::MAX);
        }
        match self.lock().accumulator.gate().enlists() {
            Some(_) => (0, FIRST_TO_ENLIST - 1),
            None => (FIRST_TO_ENLIST, i16::MAX),
        }
    }

    /// Fails what waits of doomed transactions and has whoever sees to the transactions told.
    pub(super) fn sweep(&self) {
        let (swept, news) = {
            let mut state = self.lock();
            (state.accumulator.sweep(), state.accumulator.gate().has_news())
        };
        for (error, batch) in swept.batches {
            batch.settle(Err(error));
        }
        for (error, pending) in swept.records {
            pending.refuse(error);
        }
        if news {
            self.transactions.notify_one();
        }
    }
}
