//! What can go wrong with an administrative request.

use pillion_wire::ErrorCode;
use thiserror::Error;

use crate::connection::ConnectionError;
use crate::error::{ClientError, detail};

/// An administrative request that failed, wholly or for one resource.
#[derive(Debug, Clone, Error)]
pub enum AdminError {
    /// The broker refused it.
    #[error("{api} of {resource} was refused with {code}{}", detail(.message))]
    Refused {
        /// The API.
        api: &'static str,
        /// The topic or other resource; `the cluster` for the whole.
        resource: String,
        /// Kafka's error: `TOPIC_ALREADY_EXISTS` and so on.
        code: ErrorCode,
        /// The broker's explanation, where it gave one.
        message: Option<String>,
    },
    /// The broker left the resource out of its answer.
    #[error("{api} was answered without {resource}")]
    NotAnswered {
        /// The API.
        api: &'static str,
        /// The topic or other resource.
        resource: String,
    },
    /// The request did not get through.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl AdminError {
    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::NotAnswered { .. } => None,
            Self::Client(error) => error.error_code(),
        }
    }
}

impl From<ConnectionError> for AdminError {
    fn from(error: ConnectionError) -> Self {
        Self::Client(error.into())
    }
}
