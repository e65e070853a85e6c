//! OffsetFetch (key 9), versions 1 to 10.
//!
//! Returns how far groups have read.
//!
//! A partition without a committed offset is answered with offset -1, never left out.
//!
//! Versions: 1 reads from `__consumer_offsets`; 2 can ask for every topic; 5 brought leader epochs (KIP-320);
//! 6 flexible fields; 7 waiting for open transactions (KIP-447); 8 several groups a request (KIP-709), whose structs
//! end in `Group`, `Topics` and `Partitions`; 9 member epochs (KIP-848); 10 topic ids in place of names.

use uuid::Uuid;

use crate::Message;

/// The groups and partitions to look up.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 9, name = "OffsetFetch", versions = "1-10", flexible = "6+", response = "OffsetFetchResponse")]
pub struct OffsetFetchRequest {
    /// The group's name.
    #[field(versions = "1-7")]
    pub group_id: String,
    /// The partitions, by topic; `None` asks for all.
    #[field(versions = "1-7", nullable = "2-7")]
    pub topics: Option<Vec<OffsetFetchRequestTopic>>,
    /// The partitions, by group and topic.
    #[field(versions = "8+")]
    pub groups: Vec<OffsetFetchRequestGroup>,
    /// Refuse offsets that an open transaction may still replace.
    #[field(versions = "7+")]
    pub require_stable: bool,
}

/// One topic's partitions to look up, up to version 7.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchRequestTopic {
    /// The topic's name.
    pub name: String,
    /// The partitions' numbers.
    pub partition_indexes: Vec<i32>,
}

/// One group's partitions to look up, from version 8.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchRequestGroup {
    /// The group's name.
    pub group_id: String,
    /// The asking member's id in the consumer group protocol; `None` otherwise.
    #[field(versions = "9+", nullable = "9+", default = None, ignorable)]
    pub member_id: Option<String>,
    /// The asking member's epoch in the consumer group protocol; -1 otherwise.
    #[field(versions = "9+", default = -1, ignorable)]
    pub member_epoch: i32,
    /// The partitions, by topic; `None` asks for all.
    #[field(nullable = "0+")]
    pub topics: Option<Vec<OffsetFetchRequestTopics>>,
}

/// One topic's partitions to look up, from version 8.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchRequestTopics {
    /// The topic's name.
    #[field(versions = "8-9", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// The partitions' numbers.
    pub partition_indexes: Vec<i32>,
}

/// The offsets found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 9, name = "OffsetFetch", versions = "1-10", flexible = "6+")]
pub struct OffsetFetchResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "3+", ignorable)]
    pub throttle_time_ms: i32,
    /// The offsets, by topic, up to version 7.
    #[field(versions = "1-7")]
    pub topics: Vec<OffsetFetchResponseTopic>,
    /// Kafka error number of the whole group, up to version 7; 0 means none.
    #[field(versions = "2-7", ignorable)]
    pub error_code: i16,
    /// The offsets, by group and topic, from version 8.
    #[field(versions = "8+")]
    pub groups: Vec<OffsetFetchResponseGroup>,
}

/// One topic's offsets, up to version 7.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchResponseTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<OffsetFetchResponsePartition>,
}

/// One partition's offset, up to version 7.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchResponsePartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The next offset to read; -1 when none was committed.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 when unknown.
    #[field(versions = "5-7", default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// The text committed with the offset.
    #[field(nullable = "0+")]
    pub metadata: Option<String>,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}

/// One group's offsets, from version 8.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchResponseGroup {
    /// The group's name.
    pub group_id: String,
    /// The offsets, by topic.
    pub topics: Vec<OffsetFetchResponseTopics>,
    /// Kafka error number of the whole group; 0 means none.
    pub error_code: i16,
}

/// One topic's offsets, from version 8.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchResponseTopics {
    /// The topic's name.
    #[field(versions = "8-9", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<OffsetFetchResponsePartitions>,
}

/// One partition's offset, from version 8.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OffsetFetchResponsePartitions {
    /// The partition's number.
    pub partition_index: i32,
    /// The next offset to read; -1 when none was committed.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 when unknown.
    #[field(default = -1)]
    pub committed_leader_epoch: i32,
    /// The text committed with the offset.
    #[field(nullable = "0+")]
    pub metadata: Option<String>,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
