//! What can go wrong between a client and its cluster, apart from producing and administering.

use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::records::RecordsError;
use thiserror::Error;

use crate::connection::ConnectionError;
use crate::security::CertificateError;

/// A request that could not be carried out.
#[derive(Debug, Clone, Error)]
pub enum ClientError {
    /// A bootstrap server that is not `host:port`.
    #[error("bootstrap server {server:?} is not host:port, such as 127.0.0.1:9092 or [::1]:9092")]
    InvalidBootstrapServer {
        /// The entry as it was given.
        server: String,
    },
    /// Certificates or a key that the security settings name cannot be used.
    #[error("TLS cannot be set up")]
    Certificates(#[from] CertificateError),
    /// No bootstrap server answered in time.
    #[error(
        "none of the bootstrap servers {servers} answered within {waited:?}; check the address and that a broker runs there"
    )]
    NoBootstrapServer {
        /// The servers tried, separated by commas.
        servers: String,
        /// How long they were tried for.
        waited: Duration,
        /// What the last of them failed with.
        #[source]
        source: Option<ConnectionError>,
    },
    /// A connection could not be made, broke, or carried something that is not Kafka's protocol.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The broker answered with an error.
    #[error("{api} was answered with {code}{}", detail(.message))]
    Broker {
        /// The API asked.
        api: &'static str,
        /// Kafka's error.
        code: ErrorCode,
        /// The broker's explanation, where it gave one.
        message: Option<String>,
    },
    /// The topic does not exist, or not yet.
    #[error("topic {topic} is not known to the cluster; create it, or let the broker create topics")]
    UnknownTopic {
        /// The topic's name.
        topic: String,
    },
    /// The partition does not exist.
    #[error("topic {topic} has no partition {partition}")]
    UnknownPartition {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
    },
    /// The position is outside the partition's log: records before the log start were deleted, or the log is shorter.
    #[error("offset {offset} of {topic}-{partition} is out of range; seek to the earliest or latest offset")]
    OffsetOutOfRange {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
        /// The offset asked for.
        offset: i64,
    },
    /// The log was cut back below the position and has other records there now (KIP-320).
    #[error("log of {topic}-{partition} was truncated to {end_offset}, below the position {offset}; seek to go on")]
    LogTruncated {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
        /// The position.
        offset: i64,
        /// The end of what the consumer's log and the leader's have in common.
        end_offset: i64,
    },
    /// A fetched batch is damaged.
    #[error("batch at offset {offset} of {topic}-{partition} cannot be read")]
    Records {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
        /// Where the batch was expected.
        offset: i64,
        /// What is wrong with it.
        #[source]
        source: std::sync::Arc<RecordsError>,
    },
    /// Retries went on until the time was over.
    #[error("{what} did not succeed within {waited:?}")]
    TimedOut {
        /// What was tried.
        what: &'static str,
        /// How long.
        waited: Duration,
        /// The last failure.
        #[source]
        source: Option<Box<ClientError>>,
    },
    /// The client was shut down.
    #[error("client is shut down")]
    Closed,
}

impl ClientError {
    /// Whether it will stay so until someone changes the client's settings, or the cluster's: a certificate, a
    /// password, a protocol, an address that is none.
    #[must_use]
    pub fn needs_other_settings(&self) -> bool {
        match self {
            Self::InvalidBootstrapServer { .. } | Self::Certificates(_) => true,
            Self::NoBootstrapServer { source: Some(error), .. } | Self::Connection(error) => {
                error.needs_other_settings()
            }
            Self::TimedOut { source: Some(source), .. } => source.needs_other_settings(),
            _ => false,
        }
    }

    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. } => Some(*code),
            Self::UnknownTopic { .. } | Self::UnknownPartition { .. } => Some(ErrorCode::UnknownTopicOrPartition),
            Self::OffsetOutOfRange { .. } => Some(ErrorCode::OffsetOutOfRange),
            Self::TimedOut { source: Some(source), .. } => source.error_code(),
            Self::Connection(error) => error.error_code(),
            _ => None,
        }
    }
}

/// `: text` when there is one.
pub(crate) fn detail(message: &Option<String>) -> String {
    message.as_deref().filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(": {text}"))
}
