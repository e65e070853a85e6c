//! A consumer's settings and what it is told to read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::records::{RecordHeader, TimestampType};

use crate::offsets::Offset;

/// Which records are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// All up to the high watermark.
    #[default]
    ReadUncommitted,
    /// All up to the last stable offset, without those of aborted transactions.
    ReadCommitted,
}

impl IsolationLevel {
    /// The number on the wire.
    pub(crate) fn code(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// A consumer's settings, named as Kafka's own.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// How long a broker may hold a fetch that finds nothing. 500 ms.
    pub fetch_max_wait: Duration,
    /// Bytes a broker waits for. 1.
    pub fetch_min_bytes: i32,
    /// Bytes of one fetch at most; a first batch larger than that still comes whole. 16 MiB.
    pub fetch_max_bytes: i32,
    /// Bytes of one partition in a fetch at most, likewise. 1 MiB.
    pub max_partition_fetch_bytes: i32,
    /// Records one poll gives at most. 2,000.
    pub max_poll_records: usize,
    /// Which records are shown.
    pub isolation_level: IsolationLevel,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            fetch_max_wait: Duration::from_millis(500),
            fetch_min_bytes: 1,
            fetch_max_bytes: 16 << 20,
            max_partition_fetch_bytes: 1 << 20,
            max_poll_records: 2_000,
            isolation_level: IsolationLevel::ReadUncommitted,
        }
    }
}

/// A partition to read, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Where to begin.
    pub start: Offset,
}

/// A record read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumedRecord {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: i32,
    /// Its place in the partition.
    pub offset: i64,
    /// The leader epoch it was written in; −1 when unknown.
    pub leader_epoch: i32,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Who set the timestamp.
    pub timestamp_type: TimestampType,
    /// The key.
    pub key: Option<Bytes>,
    /// The value; `None` is a tombstone on compacted topics.
    pub value: Option<Bytes>,
    /// Headers in order.
    pub headers: Vec<RecordHeader>,
}
