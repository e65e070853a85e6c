//! DeleteRecords (key 21), versions 0 to 2.
//!
//! Raises log start offsets, giving up the records below (KIP-107).
//!
//! Versions: 2 brought flexible fields.

use crate::Message;

/// The new log start offsets.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 21, name = "DeleteRecords", versions = "0-2", flexible = "2+", response = "DeleteRecordsResponse")]
pub struct DeleteRecordsRequest {
    /// The offsets, by topic.
    pub topics: Vec<DeleteRecordsTopic>,
    /// Milliseconds the broker may take before it answers with a timeout.
    pub timeout_ms: i32,
}

/// One topic's offsets.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeleteRecordsTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<DeleteRecordsPartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeleteRecordsPartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The new log start offset; -1 means the high watermark.
    pub offset: i64,
}

/// What became of each partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 21, name = "DeleteRecords", versions = "0-2", flexible = "2+")]
pub struct DeleteRecordsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// The results, by topic.
    pub topics: Vec<DeleteRecordsTopicResult>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeleteRecordsTopicResult {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<DeleteRecordsPartitionResult>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeleteRecordsPartitionResult {
    /// The partition's number.
    pub partition_index: i32,
    /// The lowest log start offset among the replicas; -1 on an error.
    pub low_watermark: i64,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
