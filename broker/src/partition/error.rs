//! Why a batch was not appended, or is not durable.

use std::sync::Arc;

use thiserror::Error;

use crate::log::{LogError, MarkerError, SequenceError};

/// An append that did not happen, or whose durability is unknown.
#[derive(Debug, Clone, Error)]
pub(crate) enum AppendError {
    /// The producer's sequence does not allow it.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The marker's producer or coordinator was replaced.
    #[error(transparent)]
    Marker(#[from] MarkerError),
    /// The transaction that a batch belongs to ended before the batch came.
    #[error("the batch's transaction has ended meanwhile")]
    TransactionEnded,
    /// The disk refused the write.
    #[error("cannot write the batch")]
    Log(#[source] Arc<LogError>),
    /// A sync failed before; what the page cache holds is no evidence of what the disk does.
    #[error("the partition is offline after a failed sync; look at the disk, then restart the broker")]
    Offline,
    /// The topic was deleted.
    #[error("the topic was deleted")]
    Deleted,
    /// The disk is nearly full.
    #[error("the disk has too little free space; make room, or lower log.min.free.bytes")]
    OutOfSpace,
}

impl From<LogError> for AppendError {
    fn from(error: LogError) -> Self {
        Self::Log(Arc::new(error))
    }
}
