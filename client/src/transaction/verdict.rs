//! What a coordinator's error says about a transaction, ordered by how much it ends (KIP-1050). Pure.

use pillion_wire::ErrorCode;

use crate::coordinator::wants_lookup;

/// A request to a coordinator on behalf of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// InitProducerId.
    Initialize,
    /// AddPartitionsToTxn.
    AddPartitions,
    /// AddOffsetsToTxn.
    AddOffsets,
    /// TxnOffsetCommit.
    CommitOffsets,
    /// EndTxn.
    End,
}

/// What an answer means; of several in one answer the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// It is done.
    Done,
    /// Nothing of its own: another part of the request was refused.
    NotAttempted,
    /// The transaction before is still being completed: try again in a moment.
    Concurrent,
    /// Try again after the backoff.
    Retry,
    /// Find the coordinator anew, then try again.
    FindAgain,
    /// This transaction cannot be committed; another one may.
    Abortable,
    /// Another producer has the transactional id.
    Fenced,
    /// Producer and coordinator no longer agree.
    Broken,
    /// It will never be taken from this client.
    Refused,
}

/// The verdict of an error code.
pub(super) fn judge(call: Call, code: ErrorCode) -> Verdict {
    match code {
        ErrorCode::None => Verdict::Done,
        ErrorCode::OperationNotAttempted => Verdict::NotAttempted,
        ErrorCode::ConcurrentTransactions => Verdict::Concurrent,
        code if wants_lookup(code) => Verdict::FindAgain,
        // Brokers before 2.7 say the latter where later ones say the former (KIP-588).
        ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch => Verdict::Fenced,
        ErrorCode::TransactionAbortable | ErrorCode::UnknownProducerId if call != Call::Initialize => {
            Verdict::Abortable
        }
        ErrorCode::InvalidTxnState | ErrorCode::InvalidProducerIdMapping | ErrorCode::UnknownProducerId => {
            Verdict::Broken
        }
        ErrorCode::TransactionalIdAuthorizationFailed
        | ErrorCode::ClusterAuthorizationFailed
        | ErrorCode::InvalidTransactionTimeout
        | ErrorCode::InvalidRequest
        | ErrorCode::UnsupportedVersion
        | ErrorCode::UnsupportedForMessageFormat
        | ErrorCode::SecurityDisabled => Verdict::Refused,
        // The member, the topic or the offsets are to blame: without them a transaction may do.
        ErrorCode::TopicAuthorizationFailed
        | ErrorCode::GroupAuthorizationFailed
        | ErrorCode::InvalidTopicException
        | ErrorCode::InvalidGroupId
        | ErrorCode::GroupIdNotFound
        | ErrorCode::UnknownMemberId
        | ErrorCode::IllegalGeneration
        | ErrorCode::FencedInstanceId
        | ErrorCode::StaleMemberEpoch
        | ErrorCode::RebalanceInProgress
        | ErrorCode::OffsetMetadataTooLarge
        | ErrorCode::InvalidCommitOffsetSize
            if call != Call::Initialize =>
        {
            Verdict::Abortable
        }
        code if code.is_retriable() => Verdict::Retry,
        _ => Verdict::Broken,
    }
}

/// The verdict of a record's refusal: whether the producer can go on behind an abort.
pub(super) fn judge_record(code: Option<ErrorCode>) -> Verdict {
    match code {
        Some(ErrorCode::ProducerFenced) => Verdict::Fenced,
        Some(ErrorCode::InvalidProducerIdMapping) => Verdict::Broken,
        Some(
            ErrorCode::TransactionalIdAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::UnsupportedVersion,
        ) => Verdict::Refused,
        // A stale epoch may be only this broker's view; the abort tells whether the producer is fenced (KIP-588).
        _ => Verdict::Abortable,
    }
}

#[cfg(test)]
mod tests;
