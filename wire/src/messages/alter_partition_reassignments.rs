//! AlterPartitionReassignments (key 45), versions 0 to 1.
//!
//! Gives partitions to other nodes, or takes that back (KIP-455).
//!
//! Versions: 1 can forbid another number of replicas (KIP-860).

use crate::Message;

/// What goes where.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 45,
    name = "AlterPartitionReassignments",
    versions = "0-1",
    flexible = "0+",
    response = "AlterPartitionReassignmentsResponse"
)]
pub struct AlterPartitionReassignmentsRequest {
    /// Milliseconds to wait.
    #[field(default = 60_000)]
    pub timeout_ms: i32,
    /// Whether a partition may get another number of replicas.
    #[field(versions = "1+", default = true)]
    pub allow_replication_factor_change: bool,
    /// One entry a topic.
    pub topics: Vec<ReassignableTopic>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReassignableTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<ReassignablePartition>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReassignablePartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The nodes to hold it; `None` takes back what is under way.
    #[field(nullable = "0+", default = None)]
    pub replicas: Option<Vec<i32>>,
}

/// The outcomes.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 45, name = "AlterPartitionReassignments", versions = "0-1", flexible = "0+")]
pub struct AlterPartitionReassignmentsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// As the request said.
    #[field(versions = "1+", default = true, ignorable)]
    pub allow_replication_factor_change: bool,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a topic.
    pub responses: Vec<ReassignableTopicResponse>,
}

/// A topic's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReassignableTopicResponse {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<ReassignablePartitionResponse>,
}

/// A partition's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReassignablePartitionResponse {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
}
