//! What the handles of a transactional producer share with its task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::{Semaphore, mpsc};

use super::driver::Command;
use super::error::TransactionError;

/// What the handles share.
pub(super) struct Shared {
    pub(super) transactional_id: String,
    /// Room for transactions begun and not ended.
    pub(super) turns: Arc<Semaphore>,
    /// Whether one is being filled.
    open: AtomicBool,
    /// Why the producer has ended, if it has.
    ended: OnceLock<TransactionError>,
}

impl Shared {
    pub(super) fn new(transactional_id: String, turns: usize) -> Self {
        let turns = Arc::new(Semaphore::new(turns));
        Self { transactional_id, turns, open: AtomicBool::new(false), ended: OnceLock::new() }
    }

    /// Ends the producer.
    pub(super) fn end(&self, error: TransactionError) {
        // What it ended with first counts.
        let _ = self.ended.set(error);
        self.turns.close();
    }

    /// Why the producer has ended, if it has.
    pub(super) fn ended(&self) -> Option<TransactionError> {
        self.ended.get().cloned()
    }
}

/// Held while a transaction is filled: there is one at a time.
pub(super) struct Filling(Arc<Shared>);

impl Filling {
    /// `None` while another one is filled.
    pub(super) fn begin(shared: &Arc<Shared>) -> Option<Self> {
        (!shared.open.swap(true, Ordering::AcqRel)).then(|| Self(shared.clone()))
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.0.open.store(false, Ordering::Release);
    }
}

/// The way to the task. Each transaction sends two commands at most, and their number is bounded by the turns.
pub(super) type Commands = mpsc::UnboundedSender<Command>;
