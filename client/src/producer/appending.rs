//! From a caller into the accumulator: one record that somebody watches, or a transaction's many at once.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::ProduceError;
use super::batch::Pending;
use super::dispatch::Dispatch;

impl Dispatch {
    /// Queues a record; wakes the task when it may have to be sent and nobody waits for it yet. `group` holds what has
    /// to be settled together; without one it is the records up to the next flush.
    pub(super) fn append(
        &self,
        topic: &str,
        group: Option<&TaskTracker>,
        pending: impl FnOnce(&TaskTracker) -> Pending,
    ) -> Result<(), ProduceError> {
        let cluster = self.client.metadata.cluster();
        let mut state = self.lock();
        let pending = match group.or(state.groups.last()) {
            Some(group) => pending(group),
            None => return Err(ProduceError::Closed),
        };
        let appended = state.accumulator.append(topic, pending, &cluster);
        if appended.is_err() {
            state.accumulator.gate().seen();
        }
        drop(state);
        match appended {
            Ok(true) => self.wake.notify_one(),
            Ok(false) => {}
            Err(refused) => {
                self.sweep();
                return Err(refused.1);
            }
        }
        Ok(())
    }

    /// Queues records of a transaction in order, up to the first that cannot be, and sends what can be sent.
    ///
    /// # Errors
    /// Why a record could not be queued; its transaction is doomed.
    pub(super) fn append_all(&self, records: impl Iterator<Item = (Arc<str>, Pending)>) -> Result<(), ProduceError> {
        let cluster = self.client.metadata.cluster();
        let mut refused = None;
        {
            let mut state = self.lock();
            for (topic, pending) in records {
                if let Err(kept) = state.accumulator.append(&topic, pending, &cluster) {
                    state.accumulator.gate().seen();
                    refused = Some(kept.1);
                    break;
                }
            }
        }
        if let Some(error) = refused {
            self.sweep();
            return Err(error);
        }
        self.drive();
        Ok(())
    }
}
