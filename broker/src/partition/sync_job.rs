//! A partition's group commit, run by a sync thread.

use std::sync::Arc;
use std::time::Instant;

use super::waiters::Ready;
use super::{AppendError, Partition};
use crate::clock::now_ms;
use crate::config::Durability;
use crate::sync::SyncJob;

impl SyncJob for Partition {
    fn run(self: Arc<Self>) -> bool {
        let (dirty, end, bytes) = {
            let mut state = self.state.lock();
            (state.unsynced_records, state.unsynced_since_ms) = (0, i64::MAX);
            (state.log.dirty(), state.log.end(), std::mem::take(&mut state.unsynced_bytes))
        };
        let began = Instant::now();
        let synced = dirty.sync(self.shared.disk());
        match &synced {
            Ok(()) => self.shared.metrics.syncs.observe(began.elapsed()),
            Err(_) => self.shared.metrics.sync_failures.add(1),
        }
        let mut state = self.state.lock();
        let mut left = 0;
        let ready = match synced {
            Ok(()) => {
                state.log.synced(&dirty);
                state.durable_end = end.offset;
                state.advance(end)
            }
            // Its files may be gone already.
            Err(_) if state.closed.is_some() => Ready::default(),
            Err(error) => {
                tracing::error!(
                    topic = %self.topic, partition = self.index, %error,
                    "a sync failed: the partition is offline until the broker is restarted; look at the disk"
                );
                state.note_sync_failure();
                left = std::mem::take(&mut state.unsynced_bytes);
                state.end(AppendError::Offline)
            }
        };
        let again = state.closed.is_none()
            && match self.shared.durability {
                _ if state.log.awaits_sync() => true,
                Durability::Sync => state.log.end() != end,
                Durability::Async => state.is_sync_due(now_ms()),
            };
        state.sync_queued = again;
        drop(state);
        self.shared.dirty.remove(bytes + left);
        ready.run();
        again
    }
}
