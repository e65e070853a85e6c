//! Which of the client's errors pass by themselves, which are one record's, and which need a person.

use pillion_client::{
    AbortCause, AdminError, ClientError, ErrorCode, ProduceError, TransactionError, TransactionErrorClass,
};

use crate::progress::ReadingError;
use crate::publish::PublishError;

pub(super) fn of_client(error: ClientError) -> PublishError {
    if error.needs_other_settings() {
        return PublishError::Refused(error.into());
    }
    of_code(error.error_code(), error)
}

pub(super) fn of_admin(error: AdminError) -> PublishError {
    match error.error_code() {
        // These need another configuration, of ours or of the broker's. A replication factor may be impossible only
        // as long as a broker is away.
        Some(ErrorCode::InvalidPartitions | ErrorCode::InvalidConfig | ErrorCode::PolicyViolation) => {
            PublishError::Refused(error.into())
        }
        code => of_code(code, error),
    }
}

pub(super) fn of_produce(error: ProduceError) -> PublishError {
    match error {
        ProduceError::RecordTooLarge { .. } | ProduceError::UnknownPartition { .. } | ProduceError::Records(_) => {
            PublishError::RecordRefused(error.into())
        }
        // Keys would move to other partitions, past what readers have not seen of them yet.
        ProduceError::PartitionsChanged { .. } => PublishError::Refused(error.into()),
        // Another record's failure, which that record's own acknowledgement tells.
        ProduceError::TransactionAborted { ref source } if is_record(source) => {
            PublishError::TransactionRefused(error.into())
        }
        ProduceError::TransactionAborted { .. } => PublishError::Unavailable(error.into()),
        _ => of_code(error.error_code(), error),
    }
}

/// Whether a transaction is aborted because one of its records will never be taken.
fn is_record(cause: &AbortCause) -> bool {
    match cause {
        AbortCause::Record(error) => matches!(of_produce(error.clone()), PublishError::RecordRefused(_)),
        _ => false,
    }
}

pub(super) fn of_transaction(error: TransactionError) -> PublishError {
    if let TransactionError::Aborted { source, .. } = &error
        && let AbortCause::Record(record) = &**source
    {
        return match of_produce(record.clone()) {
            PublishError::RecordRefused(_) => PublishError::TransactionRefused(error.into()),
            PublishError::Refused(_) => PublishError::Refused(error.into()),
            _ => PublishError::Unavailable(error.into()),
        };
    }
    match error.class() {
        TransactionErrorClass::InvalidConfiguration => PublishError::Refused(error.into()),
        // Fenced, too: we hold the slot, so whoever fenced us no longer has it, or will not for long.
        _ => PublishError::Unavailable(error.into()),
    }
}

pub(super) fn of_reading(error: ReadingError) -> PublishError {
    match &error {
        ReadingError::Record { .. } => PublishError::Refused(error.into()),
        ReadingError::Client { source, .. } => of_code(source.error_code(), error),
        ReadingError::Offsets { source, .. } => of_code(source.error_code(), error),
        ReadingError::TimedOut { .. } => PublishError::Unavailable(error.into()),
    }
}

fn of_code<E: std::error::Error + Send + Sync + 'static>(code: Option<ErrorCode>, error: E) -> PublishError {
    match code {
        Some(ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge | ErrorCode::InvalidTopicException) => {
            PublishError::RecordRefused(error.into())
        }
        // The broker refuses a whole batch for one bad record, so on.error=skip would drop good ones with it.
        Some(ErrorCode::InvalidRecord | ErrorCode::InvalidTimestamp) => PublishError::Refused(error.into()),
        Some(
            ErrorCode::TopicAuthorizationFailed
            | ErrorCode::ClusterAuthorizationFailed
            | ErrorCode::TransactionalIdAuthorizationFailed
            | ErrorCode::SaslAuthenticationFailed
            | ErrorCode::UnsupportedSaslMechanism
            | ErrorCode::UnsupportedVersion,
        ) => PublishError::Refused(error.into()),
        _ => PublishError::Unavailable(error.into()),
    }
}
