//! ElectLeaders (key 43), versions 0 to 2.
//!
//! Has partitions led by another of their replicas (KIP-183, KIP-460).
//!
//! Versions: 1 can elect a replica that is not in sync, and answers an error for all; 2 brought flexible fields.

use crate::Message;

/// Which partitions, and how.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 43, name = "ElectLeaders", versions = "0-2", flexible = "2+", response = "ElectLeadersResponse")]
pub struct ElectLeadersRequest {
    /// 0 the preferred replica, 1 any that is left.
    #[field(versions = "1+")]
    pub election_type: i8,
    /// The partitions; `None` means all.
    #[field(nullable = "0+")]
    pub topic_partitions: Option<Vec<TopicPartitions>>,
    /// Milliseconds to wait for the elections.
    #[field(default = 60_000)]
    pub timeout_ms: i32,
}

/// Partitions of a topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicPartitions {
    /// The topic's name.
    pub topic: String,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// The outcomes.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 43, name = "ElectLeaders", versions = "0-2", flexible = "2+")]
pub struct ElectLeadersResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    #[field(versions = "1+")]
    pub error_code: i16,
    /// One entry a topic.
    pub replica_election_results: Vec<ReplicaElectionResult>,
}

/// A topic's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReplicaElectionResult {
    /// The topic's name.
    pub topic: String,
    /// One entry a partition.
    pub partition_result: Vec<PartitionResult>,
}

/// A partition's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionResult {
    /// The partition's number.
    pub partition_id: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
}
