//! What goes into a producer and what comes back.

use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::RecordHeader;

/// A record to produce.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProducerRecord {
    /// The topic's name, shared by the records that go there.
    pub topic: Arc<str>,
    /// The partition's number. `None`: `murmur2(key) % partitions` as Kafka's Java client does, or without a key a
    /// partition that changes from batch to batch.
    pub partition: Option<i32>,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone on compacted topics.
    pub value: Option<Bytes>,
    /// Headers in order; keys may repeat.
    pub headers: Vec<RecordHeader>,
    /// Milliseconds since 1970; `None` takes the time of `send`.
    pub timestamp_ms: Option<i64>,
}

/// Where a record went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: i32,
    /// The record's offset; −1 when the broker did not say (acks none, or a repetition older than it remembers).
    pub offset: i64,
}
