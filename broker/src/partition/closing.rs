//! A partition at a clean stop.

use super::Partition;
use crate::log::LogError;

/// How what a clean stop writes becomes durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClosingSync {
    /// Each file by itself, before [`Partition::close`] returns.
    OneByOne,
    /// By the caller, who syncs the disk as a whole: ten thousand files need not be open at once.
    Whole,
}

impl Partition {
    /// Whether a clean stop has something to write; `None` when the partition is offline, and the next start must
    /// recover it.
    pub(crate) fn is_unsaved(&self) -> Option<bool> {
        let state = self.state.lock();
        state.closed.is_none().then(|| state.log.is_unsaved())
    }

    /// Notes down that the sync of the disk as a whole failed: the next start cuts the log where it is surely durable.
    pub(crate) fn note_sync_failure(&self) {
        self.state.lock().note_sync_failure();
    }

    /// Writes down all that a start would otherwise have to find out. Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn close(&self, sync: ClosingSync) -> Result<(), LogError> {
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return Ok(());
        }
        state.log.prepare_close(sync == ClosingSync::Whole)?;
        match sync {
            ClosingSync::OneByOne => state.log.sync().inspect_err(|_| state.note_sync_failure())?,
            ClosingSync::Whole => {
                let dirty = state.log.dirty();
                state.log.synced(&dirty);
                return Ok(());
            }
        }
        let end = state.log.end();
        let ready = state.advance(end);
        drop(state);
        ready.run();
        Ok(())
    }
}
