//! OffsetForLeaderEpoch (key 23), versions 2 to 4.
//!
//! Tells where leader epochs ended, so that a reader finds where its log left the leader's (KIP-101, KIP-279).
//!
//! Versions: 2 brought fencing (KIP-320); 3 the replica id; 4 flexible fields.

use crate::Message;

/// The epochs to look up.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 23,
    name = "OffsetForLeaderEpoch",
    versions = "2-4",
    flexible = "4+",
    response = "OffsetForLeaderEpochResponse"
)]
pub struct OffsetForLeaderEpochRequest {
    /// The following broker's id; -1 for a consumer, -2 for debugging (sees beyond the high watermark).
    #[field(versions = "3+", default = -2, ignorable)]
    pub replica_id: i32,
    /// The epochs, by topic.
    pub topics: Vec<OffsetForLeaderTopic>,
}

/// One topic's lookups.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetForLeaderTopic {
    /// The topic's name.
    pub topic: String,
    /// One entry a partition.
    pub partitions: Vec<OffsetForLeaderPartition>,
}

/// One partition's lookup.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetForLeaderPartition {
    /// The partition's number.
    pub partition: i32,
    /// The leader epoch the client knows; -1 skips the fencing check.
    #[field(default = -1)]
    pub current_leader_epoch: i32,
    /// The leader epoch whose end is wanted.
    pub leader_epoch: i32,
}

/// The ends found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 23, name = "OffsetForLeaderEpoch", versions = "2-4", flexible = "4+")]
pub struct OffsetForLeaderEpochResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// The results, by topic.
    pub topics: Vec<OffsetForLeaderTopicResult>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetForLeaderTopicResult {
    /// The topic's name.
    pub topic: String,
    /// One entry a partition.
    pub partitions: Vec<EpochEndOffset>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EpochEndOffset {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The partition's number.
    pub partition: i32,
    /// The largest epoch at or below the one asked for; -1 when there is none.
    #[field(default = -1)]
    pub leader_epoch: i32,
    /// The offset after that epoch's last record; -1 when there is none.
    #[field(default = -1)]
    pub end_offset: i64,
}
