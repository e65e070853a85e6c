//! OffsetDelete (key 47), version 0.
//!
//! Deletes committed offsets of a group that does not read their topics (KIP-496).

use crate::Message;

/// The offsets to delete.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 47, name = "OffsetDelete", versions = "0", flexible = "none", response = "OffsetDeleteResponse")]
pub struct OffsetDeleteRequest {
    /// The group's name.
    pub group_id: String,
    /// The partitions, by topic.
    pub topics: Vec<OffsetDeleteRequestTopic>,
}

/// One topic's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetDeleteRequestTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<OffsetDeleteRequestPartition>,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetDeleteRequestPartition {
    /// The partition's number.
    pub partition_index: i32,
}

/// What became of each offset.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 47, name = "OffsetDelete", versions = "0", flexible = "none")]
pub struct OffsetDeleteResponse {
    /// Kafka error number for the whole request; 0 means none.
    pub error_code: i16,
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(ignorable)]
    pub throttle_time_ms: i32,
    /// The results, by topic; empty with an error for the whole request.
    pub topics: Vec<OffsetDeleteResponseTopic>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetDeleteResponseTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<OffsetDeleteResponsePartition>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetDeleteResponsePartition {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
