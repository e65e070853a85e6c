//! What can go wrong with a record on its way.

use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;
use pillion_wire::records::RecordsError;
use thiserror::Error;

use crate::connection::ConnectionError;
use crate::error::detail;
use crate::transaction::AbortCause;

/// A record that was not delivered, or a producer that cannot go on.
#[derive(Debug, Clone, Error)]
pub enum ProduceError {
    /// The record can never fit.
    #[error(
        "record of {bytes} bytes is larger than {limit} bytes; raise buffer.memory, or max.message.bytes of the topic"
    )]
    RecordTooLarge {
        /// Bytes it takes at most.
        bytes: usize,
        /// The limit it passes: this producer's memory or, when the broker refused it, its own size.
        limit: usize,
    },
    /// The topic has no such partition.
    #[error("topic {topic} has no partition {partition}")]
    UnknownPartition {
        /// The topic's name.
        topic: String,
        /// The partition asked for.
        partition: i32,
    },
    /// The topic has another number of partitions than when the producer began to send to it, and keys must stay.
    #[error(
        "topic {topic} has {now} partitions and had {before}: keys would go to other partitions; let its readers finish \
         what is there, then restart to go on with the new number"
    )]
    PartitionsChanged {
        /// The topic's name.
        topic: String,
        /// How many it had.
        before: usize,
        /// How many it has.
        now: usize,
    },
    /// The broker refused the batch for good.
    #[error("produce to {topic}-{partition} was refused with {code}{}", detail(.message))]
    Broker {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
        /// Kafka's error.
        code: ErrorCode,
        /// The broker's explanation, where it gave one.
        message: Option<String>,
    },
    /// The topic cannot be produced to.
    #[error("topic {topic} cannot be produced to: {code}")]
    Topic {
        /// The topic's name.
        topic: String,
        /// Kafka's error.
        code: ErrorCode,
    },
    /// Not delivered in time.
    #[error("not delivered within {waited:?}{}", last_attempt(.last))]
    DeliveryTimeout {
        /// The delivery timeout.
        waited: Duration,
        /// Whether an attempt may have been written although no answer came.
        may_be_written: bool,
        /// The last failure, if there was one.
        last: Option<String>,
    },
    /// The batch could not be built.
    #[error("batch cannot be built")]
    Records(#[source] Arc<RecordsError>),
    /// The request could not be sent or its answer not be read, and trying again would not help.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// Sequence numbers and log no longer agree and a batch may have been written: going on could lose or repeat
    /// records. Every later `send` fails, too; make a new producer and start from what was confirmed.
    #[error("producer cannot go on: {topic}-{partition} answered {code} after an attempt whose outcome is unknown")]
    Fatal {
        /// The topic's name.
        topic: String,
        /// The partition's number.
        partition: i32,
        /// What the broker answered.
        code: ErrorCode,
    },
    /// The record's transaction is aborted: readers of committed records will never see it.
    #[error("record's transaction is aborted")]
    TransactionAborted {
        /// Why.
        #[source]
        source: Arc<AbortCause>,
    },
    /// No producer id could be had.
    #[error("broker gives no producer id: {code}")]
    NoProducerId {
        /// Kafka's error.
        code: ErrorCode,
    },
    /// The producer or its client was shut down.
    #[error("producer is closed")]
    Closed,
}

impl ProduceError {
    /// Kafka's error code, where a broker gave one or where one says the same.
    #[must_use]
    pub fn error_code(&self) -> Option<ErrorCode> {
        match self {
            Self::Broker { code, .. }
            | Self::Topic { code, .. }
            | Self::Fatal { code, .. }
            | Self::NoProducerId { code } => Some(*code),
            Self::RecordTooLarge { .. } => Some(ErrorCode::MessageTooLarge),
            Self::UnknownPartition { .. } => Some(ErrorCode::UnknownTopicOrPartition),
            Self::DeliveryTimeout { .. } => Some(ErrorCode::RequestTimedOut),
            Self::Connection(error) => error.error_code(),
            Self::TransactionAborted { source } => source.error_code(),
            Self::PartitionsChanged { .. } | Self::Records(_) | Self::Closed => None,
        }
    }
}

fn last_attempt(last: &Option<String>) -> String {
    last.as_ref().map_or_else(String::new, |text| format!("; the last attempt: {text}"))
}
