//! Why a producer's batch, or a coordinator's marker, is not let in.

use thiserror::Error;

/// Why a batch does not continue its producer's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SequenceError {
    /// A newer producer with the same id has taken over.
    #[error("producer epoch {epoch} is behind {current}")]
    StaleEpoch {
        /// The batch's epoch.
        epoch: i16,
        /// The epoch known.
        current: i16,
    },
    /// A batch is missing before this one.
    #[error("sequence {sequence} where {expected} was expected")]
    OutOfOrder {
        /// The batch's first sequence number.
        sequence: i32,
        /// The one that would follow.
        expected: i32,
    },
    /// The batch is not transactional, but its producer's transaction is open: nobody could say what it belongs to.
    #[error("a batch outside the transaction that the producer began at offset {first_offset}; end that one first")]
    TransactionOpen {
        /// First offset of the open transaction.
        first_offset: i64,
    },
}

/// Why a marker may not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum MarkerError {
    /// It ends a transaction of a producer that has been replaced.
    #[error("marker of producer epoch {epoch} is behind {current}")]
    StaleEpoch {
        /// The marker's producer epoch.
        epoch: i16,
        /// The epoch known.
        current: i16,
    },
    /// Another transaction coordinator has taken over.
    #[error("marker of coordinator epoch {coordinator_epoch} is behind {current}")]
    CoordinatorFenced {
        /// The marker's coordinator epoch.
        coordinator_epoch: i32,
        /// The epoch known.
        current: i32,
    },
}
