//! What a broker's error says about a batch. Pure.

use pillion_wire::ErrorCode;

/// What an answer means for the batch it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is in the log, now or from an earlier attempt.
    Written,
    /// It may succeed later.
    Retry {
        /// Whether this attempt may have put it into the log all the same.
        may_be_written: bool,
    },
    /// The broker's last sequence number is not the one before the batch's, or it does not know the producer.
    SequenceBroken,
    /// It is larger than the topic allows, and not in the log.
    TooLarge,
    /// It will never succeed.
    Refused {
        /// Whether it may be in the log all the same.
        may_be_written: bool,
    },
}

/// The verdict of an error code.
pub(super) fn judge(code: ErrorCode) -> Verdict {
    match code {
        // A duplicate older than the five batches a broker remembers is answered without its offset.
        ErrorCode::None | ErrorCode::DuplicateSequenceNumber => Verdict::Written,
        ErrorCode::NotEnoughReplicasAfterAppend
        | ErrorCode::RequestTimedOut
        | ErrorCode::NetworkException
        | ErrorCode::KafkaStorageError => Verdict::Retry { may_be_written: true },
        ErrorCode::OutOfOrderSequenceNumber
        | ErrorCode::UnknownProducerId
        | ErrorCode::InvalidProducerEpoch
        | ErrorCode::InvalidProducerIdMapping => Verdict::SequenceBroken,
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => Verdict::TooLarge,
        code if code.is_retriable() => Verdict::Retry { may_be_written: false },
        ErrorCode::UnknownServerError => Verdict::Refused { may_be_written: true },
        _ => Verdict::Refused { may_be_written: false },
    }
}
