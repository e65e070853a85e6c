//! ListOffsets (key 2), versions 1 to 11.
//!
//! Finds the offset for a timestamp, or a mark of the log.
//!
//! Versions: 1 answers with a single offset; 2 brought isolation levels (KIP-98); 4 leader epochs (KIP-320);
//! 6 flexible fields; 7 the record with the largest timestamp (KIP-734); 8, 9 and 11 marks of tiered storage
//! (KIP-405, KIP-1005, KIP-1023); 10 a time limit (KIP-1075).

use crate::Message;

/// The timestamps to look up.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 2, name = "ListOffsets", versions = "1-11", flexible = "6+", response = "ListOffsetsResponse")]
pub struct ListOffsetsRequest {
    /// The asking broker's id; -1 for a consumer, -2 for debugging.
    pub replica_id: i32,
    /// 0 reads uncommitted records too, 1 only committed ones.
    #[field(versions = "2+")]
    pub isolation_level: i8,
    /// The timestamps, by topic.
    pub topics: Vec<ListOffsetsTopic>,
    /// Milliseconds to wait for lookups in tiered storage.
    #[field(versions = "10+", ignorable)]
    pub timeout_ms: i32,
}

/// One topic's lookups.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListOffsetsTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<ListOffsetsPartition>,
}

/// One partition's lookup.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListOffsetsPartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The leader epoch the client knows; -1 skips the fencing check.
    #[field(versions = "4+", default = -1, ignorable)]
    pub current_leader_epoch: i32,
    /// Milliseconds since the Unix epoch, or -1 latest, -2 earliest, -3 largest timestamp, -4 earliest local, -5
    /// latest tiered, -6 earliest not yet tiered.
    pub timestamp: i64,
}

/// The offsets found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 2, name = "ListOffsets", versions = "1-11", flexible = "6+")]
pub struct ListOffsetsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "2+", ignorable)]
    pub throttle_time_ms: i32,
    /// The results, by topic.
    pub topics: Vec<ListOffsetsTopicResponse>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListOffsetsTopicResponse {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListOffsetsPartitionResponse {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The found record's timestamp; -1 for a mark or when nothing was found.
    #[field(default = -1)]
    pub timestamp: i64,
    /// The first offset at or after the timestamp; -1 when there is none.
    #[field(default = -1)]
    pub offset: i64,
    /// The found record's leader epoch; -1 when unknown.
    #[field(versions = "4+", default = -1)]
    pub leader_epoch: i32,
}
