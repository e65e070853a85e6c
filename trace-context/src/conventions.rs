//! Names of spans, attributes and metrics: OpenTelemetry's semantic conventions for messaging, version 1.44.0.
//!
//! The messaging conventions are not stable yet. Version 1.45 renames among others `messaging.system` to
//! `messaging.system.name` and `messaging.kafka.offset` to `kafka.offset`: the change is made here and nowhere else,
//! for every crate takes its names from this file.

use std::borrow::Cow;

/// Version of the semantic conventions these names are from.
pub const SEMANTIC_CONVENTIONS_VERSION: &str = "1.44.0";
/// Schema URL sent with the spans, so that a backend can translate the names.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.44.0";

/// String: the messaging system; always [`KAFKA`] here.
pub const MESSAGING_SYSTEM: &str = "messaging.system";
/// Value of [`MESSAGING_SYSTEM`].
pub const KAFKA: &str = "kafka";
/// String: what the system calls the operation, such as `send`, `poll` or `process`.
pub const MESSAGING_OPERATION_NAME: &str = "messaging.operation.name";
/// String: the kind of operation, one of [`operation_type`].
pub const MESSAGING_OPERATION_TYPE: &str = "messaging.operation.type";
/// String: the topic.
pub const MESSAGING_DESTINATION_NAME: &str = "messaging.destination.name";
/// String (not a number): the partition.
pub const MESSAGING_DESTINATION_PARTITION_ID: &str = "messaging.destination.partition.id";
/// Integer: the record's offset in its partition.
pub const MESSAGING_KAFKA_OFFSET: &str = "messaging.kafka.offset";
/// String: the record's key, where it is text.
pub const MESSAGING_KAFKA_MESSAGE_KEY: &str = "messaging.kafka.message.key";
/// Boolean: the record is a tombstone. Left out when false.
pub const MESSAGING_KAFKA_MESSAGE_TOMBSTONE: &str = "messaging.kafka.message.tombstone";
/// String: the consumer group.
pub const MESSAGING_CONSUMER_GROUP_NAME: &str = "messaging.consumer.group.name";
/// String: the client id a producer or consumer announced.
pub const MESSAGING_CLIENT_ID: &str = "messaging.client.id";
/// String: the message's own id; for an outbox row its `id`.
pub const MESSAGING_MESSAGE_ID: &str = "messaging.message.id";
/// Integer, bytes: the size of the record's value.
pub const MESSAGING_MESSAGE_BODY_SIZE: &str = "messaging.message.body.size";
/// Integer: records of a batch operation. Left out for a single record.
pub const MESSAGING_BATCH_MESSAGE_COUNT: &str = "messaging.batch.message_count";
/// String: the class of error an operation ended with; Kafka's error name where the broker answered one.
pub const ERROR_TYPE: &str = "error.type";
/// String: name or address of the broker.
pub const SERVER_ADDRESS: &str = "server.address";
/// Integer: port of the broker.
pub const SERVER_PORT: &str = "server.port";
/// Name of the span event that records an error.
pub const EXCEPTION_EVENT: &str = "exception";
/// String: the class of a recorded error.
pub const EXCEPTION_TYPE: &str = "exception.type";
/// String: the message of a recorded error.
pub const EXCEPTION_MESSAGE: &str = "exception.message";

/// Values of [`MESSAGING_OPERATION_TYPE`].
pub mod operation_type {
    /// A message is made, apart from its being sent.
    pub const CREATE: &str = "create";
    /// Messages are given to the broker.
    pub const SEND: &str = "send";
    /// Messages are asked for by the consumer.
    pub const RECEIVE: &str = "receive";
    /// A message is worked on by the application.
    pub const PROCESS: &str = "process";
    /// A message's fate is told to the broker, such as by an offset commit.
    pub const SETTLE: &str = "settle";
}

/// Resource attribute, string: the service.
pub const SERVICE_NAME: &str = "service.name";
/// Resource attribute, string: the service's version.
pub const SERVICE_VERSION: &str = "service.version";

/// Histogram, seconds: an operation a client started (send, receive, commit).
pub const MESSAGING_CLIENT_OPERATION_DURATION: &str = "messaging.client.operation.duration";
/// Histogram, seconds: the application's work on one message or batch.
pub const MESSAGING_PROCESS_DURATION: &str = "messaging.process.duration";
/// Counter: messages given to the broker.
pub const MESSAGING_CLIENT_SENT_MESSAGES: &str = "messaging.client.sent.messages";
/// Counter: messages handed to the application.
pub const MESSAGING_CLIENT_CONSUMED_MESSAGES: &str = "messaging.client.consumed.messages";

/// Upper bounds of the durations' histograms, seconds (semantic conventions, metrics of messaging and HTTP).
pub const DURATION_BOUNDARIES: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Pillion's own, string `X/Y`: the LSN of the commit that wrote the outbox row.
pub const PILLION_COMMIT_LSN: &str = "pillion.outbox.commit_lsn";
/// Pillion's own, float, milliseconds: from the row's commit until the connector had decoded it.
pub const PILLION_WAL_WAIT_MS: &str = "pillion.outbox.wal_wait_ms";
/// Pillion's own, string: the outbox row's aggregate type.
pub const PILLION_AGGREGATE_TYPE: &str = "pillion.outbox.aggregate_type";
/// Pillion's own, string: the outbox row's event type.
pub const PILLION_EVENT_TYPE: &str = "pillion.outbox.event_type";

/// Name of the connector's span, from the row's commit to the broker's acknowledgement.
pub const OUTBOX_RELAY: &str = "outbox relay";

/// Operation of a broker's span: a batch from the produce request until it is durable.
pub const BROKER_APPEND: &str = "append";
/// Operation of a broker's span: a batch from its write until it is durable.
pub const BROKER_FSYNC: &str = "fsync";
/// Pillion's own, integer: bytes of a batch as it came.
pub const PILLION_BATCH_BYTES: &str = "pillion.batch.bytes";

/// Name of a messaging span: `{operation} {destination}`, such as `process orders`; the operation alone when there is
/// no destination of low cardinality.
pub fn span_name(operation: &'static str, destination: &str) -> Cow<'static, str> {
    if destination.is_empty() { Cow::Borrowed(operation) } else { Cow::Owned(format!("{operation} {destination}")) }
}

#[cfg(test)]
mod tests;
