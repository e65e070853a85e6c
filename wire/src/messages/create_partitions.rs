//! CreatePartitions (key 37), versions 0 to 3.
//!
//! Adds partitions to topics (KIP-195); they are never taken away.
//!
//! Versions: 2 brought flexible fields; 3 THROTTLING_QUOTA_EXCEEDED (KIP-599).

use crate::Message;

/// The topics to enlarge.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 37,
    name = "CreatePartitions",
    versions = "0-3",
    flexible = "2+",
    response = "CreatePartitionsResponse"
)]
pub struct CreatePartitionsRequest {
    /// One entry a topic.
    pub topics: Vec<CreatePartitionsTopic>,
    /// Milliseconds the broker may take before it answers with a timeout.
    pub timeout_ms: i32,
    /// Check the request and answer as if it had been done, but change nothing.
    pub validate_only: bool,
}

/// A topic to enlarge.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatePartitionsTopic {
    /// The topic's name.
    pub name: String,
    /// How many partitions the topic shall have in the end.
    pub count: i32,
    /// The new partitions' replicas; `None` leaves them to the broker.
    #[field(nullable = "0+")]
    pub assignments: Option<Vec<CreatePartitionsAssignment>>,
}

/// One new partition's replicas.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatePartitionsAssignment {
    /// Broker ids, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

/// What became of each topic.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 37, name = "CreatePartitions", versions = "0-3", flexible = "2+")]
pub struct CreatePartitionsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a topic.
    pub results: Vec<CreatePartitionsTopicResult>,
}

/// One topic's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatePartitionsTopicResult {
    /// The topic's name.
    pub name: String,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+", default = None)]
    pub error_message: Option<String>,
}
