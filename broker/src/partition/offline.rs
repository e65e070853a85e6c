//! A partition whose log cannot be used: others are served, and whoever asks for this one hears why not.

use std::sync::Arc;

use super::{AppendError, Partition, PartitionCheckpoint, PartitionShared};
use crate::log::{Log, LogError, Opening};

/// Why a partition is neither read nor written, and what its checkpoints said.
pub(super) struct Unreadable {
    pub(super) reason: String,
    pub(super) checkpoint: PartitionCheckpoint,
}

impl Partition {
    /// A partition whose log could not be opened.
    pub(crate) fn offline(
        topic: Arc<str>,
        index: i32,
        internal: bool,
        log: Log,
        failure: (&LogError, Opening),
        shared: Arc<PartitionShared>,
    ) -> Self {
        let (error, opening) = failure;
        tracing::error!(%topic, partition = index, %error, source = ?std::error::Error::source(error), "partition is offline");
        let log_start_offset = Some(opening.log_start_offset).filter(|start| *start > 0);
        let checkpoint = PartitionCheckpoint {
            recovery_point: opening.recovery_point,
            log_start_offset,
            cleaned_to: opening.cleaned_to,
        };
        let partition = Self::new(topic, index, internal, log, shared);
        {
            let mut state = partition.state.lock();
            state.closed = Some(AppendError::Offline);
            state.unreadable = Some(Unreadable { reason: error.to_string(), checkpoint });
        }
        partition
    }

    /// Ends service: what is on disk is not what is known of it any more, and a restart finds out what is.
    pub(super) fn go_offline(&self, reason: &str) {
        tracing::error!(topic = %self.topic, partition = self.index, reason, "partition is offline; look at the disk, then restart the broker");
        let checkpoint = self.checkpoint();
        let mut state = self.state.lock();
        if state.closed.is_some() {
            return;
        }
        state.unreadable = Some(Unreadable { reason: reason.to_owned(), checkpoint });
        let ready = state.end(AppendError::Offline);
        drop(state);
        ready.run();
    }

    /// Whether it is neither read nor written.
    pub(crate) fn is_offline(&self) -> bool {
        self.state.lock().unreadable.is_some()
    }
}
