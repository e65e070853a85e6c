//! OffsetCommit (key 8), versions 2 to 10.
//!
//! Stores how far a group has read.
//!
//! Versions: 2 to 4 carry a retention time, which 5 drops (KIP-211); 6 brought leader epochs (KIP-320); 7 static
//! members (KIP-345); 8 flexible fields; 9 the consumer group protocol (KIP-848); 10 topic ids in place of names.

use uuid::Uuid;

use crate::Message;

/// A group's offsets to store.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 8, name = "OffsetCommit", versions = "2-10", flexible = "8+", response = "OffsetCommitResponse")]
pub struct OffsetCommitRequest {
    /// The group's name.
    pub group_id: String,
    /// The member's generation or epoch; -1 commits from outside the group.
    #[field(default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The committing member's id; empty from outside the group.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "7+", nullable = "7+", default = None)]
    pub group_instance_id: Option<String>,
    /// Milliseconds to keep the offsets; -1 leaves it to the broker.
    #[field(versions = "2-4", default = -1, ignorable)]
    pub retention_time_ms: i64,
    /// The offsets, by topic.
    pub topics: Vec<OffsetCommitRequestTopic>,
}

/// One topic's offsets.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetCommitRequestTopic {
    /// The topic's name.
    #[field(versions = "2-9", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<OffsetCommitRequestPartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetCommitRequestPartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The next offset the group wants to read.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 when unknown.
    #[field(versions = "6+", default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// Text the client wants back with the offset.
    #[field(nullable = "0+")]
    pub committed_metadata: Option<String>,
}

/// What became of each offset.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 8, name = "OffsetCommit", versions = "2-10", flexible = "8+")]
pub struct OffsetCommitResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "3+", ignorable)]
    pub throttle_time_ms: i32,
    /// The results, by topic.
    pub topics: Vec<OffsetCommitResponseTopic>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetCommitResponseTopic {
    /// The topic's name.
    #[field(versions = "2-9", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<OffsetCommitResponsePartition>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetCommitResponsePartition {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
