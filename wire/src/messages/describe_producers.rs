//! DescribeProducers (key 61), version 0 (KIP-664).
//!
//! Tells which idempotent and transactional producers a partition remembers.

use crate::Message;

/// Which partitions.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 61,
    name = "DescribeProducers",
    versions = "0",
    flexible = "0+",
    response = "DescribeProducersResponse"
)]
pub struct DescribeProducersRequest {
    /// By topic.
    pub topics: Vec<TopicRequest>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: String,
    /// The partitions' numbers.
    pub partition_indexes: Vec<i32>,
}

/// What each partition remembers.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 61, name = "DescribeProducers", versions = "0", flexible = "0+")]
pub struct DescribeProducersResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// By topic.
    pub topics: Vec<TopicResponse>,
}

/// Answers for one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicResponse {
    /// The topic's name.
    pub name: String,
    /// By partition.
    pub partitions: Vec<PartitionResponse>,
}

/// The producers of one partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionResponse {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+", default = None)]
    pub error_message: Option<String>,
    /// The producers.
    pub active_producers: Vec<ProducerState>,
}

/// One producer.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ProducerState {
    /// Its id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i32,
    /// Sequence number of its last record; -1 for none.
    #[field(default = -1)]
    pub last_sequence: i32,
    /// When it last wrote, in milliseconds since the Unix epoch; -1 when unknown.
    #[field(default = -1)]
    pub last_timestamp: i64,
    /// Epoch of the coordinator that last ended a transaction of it; -1 for none.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction; -1 for none.
    #[field(default = -1)]
    pub current_txn_start_offset: i64,
}
