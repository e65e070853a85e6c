//! A partition's group commit, run by a sync thread.

use std::sync::Arc;

use super::waiters::Ready;
use super::{AppendError, Partition};
use crate::config::Durability;
use crate::log::DirtyFile;
use crate::sync::SyncJob;

impl SyncJob for Partition {
    fn run(self: Arc<Self>) -> bool {
        let (files, end, bytes) = {
            let state = self.state.lock();
            (state.log.dirty_files(), state.log.end(), state.unsynced_bytes)
        };
        let synced = files
            .iter()
            .try_for_each(DirtyFile::sync)
            .and_then(|()| files.iter().try_for_each(|file| file.sync_name(&*self.shared.disk)));
        let mut state = self.state.lock();
        state.unsynced_bytes -= bytes;
        let ready = match synced {
            Ok(()) => {
                state.log.synced(&files);
                state.advance(end)
            }
            // Its files may be gone already.
            Err(_) if state.closed.is_some() => Ready::default(),
            Err(error) => {
                tracing::error!(
                    topic = %self.topic, partition = self.index, %error,
                    "a sync failed: the partition is offline until the broker is restarted; look at the disk"
                );
                state.end(AppendError::Offline)
            }
        };
        let again = state.closed.is_none()
            && match self.shared.durability {
                Durability::Sync => state.log.end() != end,
                Durability::Async => state.unsynced_bytes >= super::ASYNC_SYNC_BYTES,
            };
        state.sync_queued = again;
        drop(state);
        self.shared.dirty.remove(bytes);
        ready.run();
        again
    }
}
