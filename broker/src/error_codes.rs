//! What the broker's own errors are called in the protocol, and what a person is told: the one place that says so.

use std::error::Error;
use std::io;

use pillion_wire::ErrorCode;

use crate::broker::{SettingsChangeError, TopicChangeError};
use crate::config::{ConfigError, DynamicConfigError};
use crate::log::{LogError, MarkerError, SequenceError};
use crate::partition::AppendError;

/// An error with its causes, in one line; where it is a full disk, with what to do about it.
pub(crate) fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.clone().skip(1).for_each(|cause| words = format!("{words}: {cause}"));
    if causes.into_iter().any(is_full_disk) {
        words.push_str("; make room on the broker's disk, then try again");
    }
    words
}

fn is_full_disk(error: &(dyn Error + 'static)) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

impl From<&AppendError> for ErrorCode {
    fn from(error: &AppendError) -> Self {
        match error {
            AppendError::Sequence(SequenceError::StaleEpoch { .. }) => Self::InvalidProducerEpoch,
            AppendError::Sequence(SequenceError::OutOfOrder { .. }) => Self::OutOfOrderSequenceNumber,
            AppendError::Sequence(SequenceError::TransactionOpen { .. }) => Self::InvalidTxnState,
            AppendError::Marker(MarkerError::StaleEpoch { .. }) => Self::InvalidProducerEpoch,
            AppendError::Marker(MarkerError::CoordinatorFenced { .. }) => Self::TransactionCoordinatorFenced,
            AppendError::TransactionEnded => Self::ConcurrentTransactions,
            AppendError::Deleted => Self::UnknownTopicOrPartition,
            AppendError::Log(_) | AppendError::Offline | AppendError::OutOfSpace => Self::KafkaStorageError,
        }
    }
}

impl From<&LogError> for ErrorCode {
    fn from(error: &LogError) -> Self {
        match error {
            LogError::OffsetOutOfRange { .. } => Self::OffsetOutOfRange,
            LogError::Deleted => Self::UnknownTopicOrPartition,
            LogError::Io { .. }
            | LogError::Damaged { .. }
            | LogError::NotCached
            | LogError::Shortened { .. }
            | LogError::Offline(_) => Self::KafkaStorageError,
        }
    }
}

impl From<&TopicChangeError> for ErrorCode {
    fn from(error: &TopicChangeError) -> Self {
        match error {
            TopicChangeError::Exists(_) => Self::TopicAlreadyExists,
            TopicChangeError::Collides { .. } => Self::InvalidTopicException,
            TopicChangeError::Unknown => Self::UnknownTopicOrPartition,
            TopicChangeError::Config(_) => Self::InvalidConfig,
            TopicChangeError::Catalogue(_) | TopicChangeError::Log(_) | TopicChangeError::Io { .. } => {
                Self::KafkaStorageError
            }
        }
    }
}

impl From<&SettingsChangeError> for ErrorCode {
    fn from(error: &SettingsChangeError) -> Self {
        match error {
            SettingsChangeError::Config(DynamicConfigError::ReadOnly(_)) => Self::InvalidRequest,
            SettingsChangeError::Config(DynamicConfigError::NoList(_)) => Self::InvalidConfig,
            // A value that is none is an INVALID_REQUEST of a broker's, and an INVALID_CONFIG of a topic's.
            SettingsChangeError::Config(DynamicConfigError::Invalid(ConfigError::InvalidValue { .. })) => {
                Self::InvalidRequest
            }
            SettingsChangeError::Config(DynamicConfigError::Invalid(ConfigError::UnknownKey { .. })) => {
                Self::InvalidConfig
            }
            SettingsChangeError::Catalogue(_) => Self::KafkaStorageError,
        }
    }
}
