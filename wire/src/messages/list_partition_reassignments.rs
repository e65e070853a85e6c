//! ListPartitionReassignments (key 46), version 0.
//!
//! Shows partitions on their way to other nodes (KIP-455).

use crate::Message;

/// Which to show.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 46,
    name = "ListPartitionReassignments",
    versions = "0",
    flexible = "0+",
    response = "ListPartitionReassignmentsResponse"
)]
pub struct ListPartitionReassignmentsRequest {
    /// Milliseconds to wait.
    #[field(default = 60_000)]
    pub timeout_ms: i32,
    /// The topics wanted; `None` means all.
    #[field(nullable = "0+", default = None)]
    pub topics: Option<Vec<ListPartitionReassignmentsTopics>>,
}

/// A topic to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListPartitionReassignmentsTopics {
    /// The topic's name.
    pub name: String,
    /// The partitions wanted.
    pub partition_indexes: Vec<i32>,
}

/// What is under way.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 46, name = "ListPartitionReassignments", versions = "0", flexible = "0+")]
pub struct ListPartitionReassignmentsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a topic.
    pub topics: Vec<OngoingTopicReassignment>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OngoingTopicReassignment {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<OngoingPartitionReassignment>,
}

/// A partition on its way.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct OngoingPartitionReassignment {
    /// The partition's number.
    pub partition_index: i32,
    /// The nodes that hold it now.
    pub replicas: Vec<i32>,
    /// Those that are to hold it, too.
    pub adding_replicas: Vec<i32>,
    /// Those that are to give it up.
    pub removing_replicas: Vec<i32>,
}
