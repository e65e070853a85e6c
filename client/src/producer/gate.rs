//! Which transaction's records may go out. Pure.
//!
//! A producer fills one transaction while the one before is being committed, so records of several are queued at a
//! time. Transactions have numbers from 1 on; 0 stands for records outside transactions, which this always lets out.
//!
//! **Invariant:** a record that fails dooms its transaction and all begun so far behind it. Were a later one committed,
//! its records would stand in the log without those they follow.

use std::sync::Arc;

use super::ProduceError;
use crate::transaction::AbortCause;

/// Transactions that will be aborted.
#[derive(Debug, Clone)]
pub(crate) struct Doomed {
    /// The first of them.
    pub(crate) from: u64,
    /// The last.
    pub(crate) to: u64,
    /// Why.
    pub(crate) cause: Arc<AbortCause>,
}

/// Who may go out.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The last transaction begun.
    begun: u64,
    /// The transaction whose records go out.
    released: u64,
    /// Its partitions have to be added before their records go out (transaction version 1).
    enlisting: bool,
    /// The last transaction of which a batch was handed out.
    sent: u64,
    doomed: Vec<Doomed>,
    /// How many of them the coordinator's side has been told of.
    told: usize,
    /// Why a transaction before the released one was doomed, the last that was.
    passed: Option<Arc<AbortCause>>,
    /// A failure that whoever begins transactions has not been told of.
    unseen: Option<Arc<AbortCause>>,
}

impl Gate {
    /// Begins a transaction.
    ///
    /// # Errors
    /// Why an earlier one is aborted, once, when nobody has been told yet: its records come before the new one's.
    pub(super) fn begin(&mut self) -> Result<u64, Arc<AbortCause>> {
        if let Some(cause) = self.unseen.take() {
            return Err(cause);
        }
        self.begun += 1;
        Ok(self.begun)
    }

    /// Notes that the caller has been told of a failure.
    pub(super) fn seen(&mut self) {
        self.unseen = None;
    }

    /// Lets a transaction's records out; nothing before it is of interest any more.
    pub(super) fn release(&mut self, number: u64, enlisting: bool) {
        (self.released, self.enlisting) = (number, enlisting);
        let before = self.doomed.len();
        let passed = self.doomed.iter().rfind(|doomed| doomed.to < number).map(|doomed| doomed.cause.clone());
        self.passed = passed.or(self.passed.take());
        self.doomed.retain(|doomed| doomed.to >= number);
        self.told = self.told.saturating_sub(before - self.doomed.len());
    }

    /// Whether a transaction's records may go out now.
    pub(super) fn admits(&self, transaction: u64) -> bool {
        transaction == 0 || transaction == self.released
    }

    /// The transaction to add partitions to before their records go out, if that is to be done.
    pub(super) fn enlists(&self) -> Option<u64> {
        Some(self.released).filter(|released| self.enlisting && *released > 0)
    }

    /// Notes that a batch of a transaction was handed out.
    pub(super) fn note_sent(&mut self, transaction: u64) {
        self.sent = self.sent.max(transaction);
    }

    /// Whether a batch of a transaction was handed out.
    pub(super) fn has_sent(&self, transaction: u64) -> bool {
        self.sent >= transaction
    }

    /// Dooms a transaction and those begun behind it, unless it is doomed already.
    pub(super) fn fail(&mut self, transaction: u64, cause: &Arc<AbortCause>) {
        if transaction >= self.released.max(1) && self.doom_of(transaction).is_none() {
            self.doomed.push(Doomed { from: transaction, to: self.begun.max(transaction), cause: cause.clone() });
            self.unseen = Some(cause.clone());
        }
    }

    /// Dooms one transaction because its caller wants it aborted.
    pub(super) fn drop_one(&mut self, transaction: u64) {
        if self.doom_of(transaction).is_none() {
            self.doomed.push(Doomed { from: transaction, to: transaction, cause: AbortCause::Caller.into() });
        }
    }

    /// What the coordinator's side has not been told of.
    pub(super) fn news(&mut self) -> Vec<Doomed> {
        let news = self.doomed[self.told.min(self.doomed.len())..].to_vec();
        self.told = self.doomed.len();
        news
    }

    /// Whether there is something the coordinator's side has not been told of.
    pub(super) fn has_news(&self) -> bool {
        self.told < self.doomed.len()
    }

    /// Whether any transaction is doomed.
    pub(super) fn has_doomed(&self) -> bool {
        !self.doomed.is_empty()
    }

    /// Why a transaction is doomed, if it is; one that was doomed and passed over still is.
    pub(super) fn doom_of(&self, transaction: u64) -> Option<&Arc<AbortCause>> {
        if (1..self.released).contains(&transaction) {
            return self.passed.as_ref();
        }
        let doomed = self.doomed.iter().find(|doomed| (doomed.from..=doomed.to).contains(&transaction));
        doomed.map(|doomed| &doomed.cause)
    }

    /// What a record of a doomed transaction fails with.
    pub(super) fn error_of(&self, transaction: u64) -> Option<ProduceError> {
        self.doom_of(transaction).map(|cause| ProduceError::TransactionAborted { source: cause.clone() })
    }
}

#[cfg(test)]
mod tests;
