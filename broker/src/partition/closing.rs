//! A partition at a clean stop.

use super::Partition;
use crate::log::LogError;

/// What a partition needs before it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// Nothing: it is as the last start found it.
    Clean,
    /// A sync.
    Unsynced,
    /// It is offline, and the next start must recover it.
    Offline,
}

impl Partition {
    /// Writes down all that a start would otherwise have to find out. Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn prepare_close(&self) -> Result<Closing, LogError> {
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return Ok(Closing::Offline);
        }
        Ok(if state.log.prepare_close()? { Closing::Unsynced } else { Closing::Clean })
    }

    /// Ends the partition, once the disk was synced as a whole or, if not `is_synced`, with a sync of its own. Blocks.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn close(&self, is_synced: bool) -> Result<(), LogError> {
        let mut state = self.state.lock();
        if is_synced {
            let dirty = state.log.dirty();
            state.log.synced(&dirty);
        } else {
            state.log.sync()?;
        }
        let end = state.log.end();
        let ready = state.advance(end);
        drop(state);
        ready.run();
        Ok(())
    }
}
