//! What can go wrong with a transaction, by what the caller can do about it (KIP-1050).

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use thiserror::Error;

use crate::connection::ConnectionError;
use crate::error::{ClientError, detail};
use crate::producer::ProduceError;

/// What the caller can do about an error, named as KIP-1050 names its classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionErrorClass {
    /// The same call may succeed later.
    Retriable,
    /// The transaction is aborted; another one may succeed.
    Abortable,
    /// This producer cannot go on; a new one may, from what was committed.
    ApplicationRecoverable,
    /// Nothing will succeed until the configuration, of the client or of the cluster, is another one.
    InvalidConfiguration,
}

/// A transaction that was not committed, or a transactional producer that cannot go on.
#[derive(Debug, Clone, Error)]
pub enum TransactionError {
    /// The transaction is aborted, and with it those begun before this was told: none of their records will be seen by
    /// readers of committed ones. The producer goes on: begin again from what was committed.
    #[error("transaction of {transactional_id} was aborted; begin again from what was committed")]
    Aborted {
        /// The producer's transactional id.
        transactional_id: String,
        /// Why.
        #[source]
        source: Arc<AbortCause>,
    },
    /// Another producer has taken the transactional id over, or the broker aborted the transaction for its timeout.
    #[error(
        "producer {transactional_id} is fenced ({api} answered {code}): another one has its transactional id, or a \
         transaction took longer than transaction.timeout.ms; make a new producer to go on"
    )]
    Fenced {
        /// The producer's transactional id.
        transactional_id: String,
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
    },
    /// Producer and coordinator no longer agree.
    #[error("producer {transactional_id} cannot go on: {api} answered {code}; make a new producer")]
    Broken {
        /// The producer's transactional id.
        transactional_id: String,
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
    },
    /// The coordinator did not tell in time whether it committed. A new producer with this transactional id ends the
    /// transaction one way or the other; read then which.
    #[error(
        "whether {transactional_id} committed is not known after {waited:?}; make a new producer, then read what is \
         committed"
    )]
    OutcomeUnknown {
        /// The producer's transactional id.
        transactional_id: String,
        /// How long it was tried.
        waited: Duration,
        /// The last failure.
        #[source]
        source: Option<Box<ClientError>>,
    },
    /// The cluster does not take it from this client, now or later.
    #[error("{api} for {transactional_id} was refused with {code}{}", detail(.message))]
    Refused {
        /// The producer's transactional id.
        transactional_id: String,
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
        /// What to do about it.
        message: Option<String>,
    },
    /// A broker does not speak what transactions take.
    #[error("transactions of {transactional_id} are not possible with this cluster")]
    Unsupported {
        /// The producer's transactional id.
        transactional_id: String,
        /// What is missing.
        #[source]
        source: ConnectionError,
    },
    /// No coordinator could be reached, or none was ready, in time; nothing has been begun.
    #[error("{transactional_id} has no transaction coordinator after {waited:?}")]
    TimedOut {
        /// The producer's transactional id.
        transactional_id: String,
        /// How long it was tried.
        waited: Duration,
        /// The last failure.
        #[source]
        source: Option<Box<ClientError>>,
    },
    /// A producer fills one transaction at a time.
    #[error("{transactional_id} is filling a transaction; commit or abort it before the next one is begun")]
    AlreadyOpen {
        /// The producer's transactional id.
        transactional_id: String,
    },
    /// The client was shut down. What was not committed will be aborted by the broker after the transaction timeout.
    #[error("client is shut down")]
    Closed,
}

impl TransactionError {
    /// What the caller can do about it.
    #[must_use]
    pub fn class(&self) -> TransactionErrorClass {
        match self {
            Self::Aborted { .. } => TransactionErrorClass::Abortable,
            Self::TimedOut { .. } | Self::AlreadyOpen { .. } => TransactionErrorClass::Retriable,
            Self::Fenced { .. } | Self::Broken { .. } | Self::OutcomeUnknown { .. } | Self::Closed => {
                TransactionErrorClass::ApplicationRecoverable
            }
            Self::Refused { .. } | Self::Unsupported { .. } => TransactionErrorClass::InvalidConfiguration,
        }
    }

    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Fenced { code, .. } | Self::Broken { code, .. } | Self::Refused { code, .. } => Some(*code),
            Self::Aborted { source, .. } => source.error_code(),
            Self::OutcomeUnknown { source, .. } | Self::TimedOut { source, .. } => source.as_ref()?.error_code(),
            Self::Unsupported { source, .. } => source.error_code(),
            Self::AlreadyOpen { .. } | Self::Closed => None,
        }
    }
}

/// Why a transaction is aborted.
#[derive(Debug, Clone, Error)]
pub enum AbortCause {
    /// A record was not delivered.
    #[error("a record was not delivered")]
    Record(#[source] ProduceError),
    /// The coordinator, of transactions or of the group, refused a part of the transaction.
    #[error("{api} was answered with {code}")]
    Request {
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
    },
    /// The coordinator, of transactions or of the group, could not be reached in time.
    #[error("{api} did not succeed within {waited:?}")]
    Unreachable {
        /// The API asked.
        api: &'static str,
        /// How long it was tried.
        waited: Duration,
        /// The last failure.
        #[source]
        source: Option<Box<ClientError>>,
    },
    /// The producer cannot go on; the broker aborts the transaction when its timeout is over.
    #[error("its producer cannot go on")]
    Producer(#[source] Box<TransactionError>),
    /// The caller aborted it, or dropped it.
    #[error("its caller aborted it")]
    Caller,
}

impl AbortCause {
    /// The cause that a record's failure is; that of an earlier failure stays the same.
    pub(crate) fn of_record(error: &ProduceError) -> Arc<Self> {
        match error {
            ProduceError::TransactionAborted { source } => source.clone(),
            error => Arc::new(Self::Record(error.clone())),
        }
    }

    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Record(error) => error.error_code(),
            Self::Request { code, .. } => Some(*code),
            Self::Unreachable { source, .. } => source.as_ref()?.error_code(),
            Self::Producer(error) => error.error_code(),
            Self::Caller => None,
        }
    }
}
