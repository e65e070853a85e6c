//! CreateTopics (key 19), versions 2 to 7.
//!
//! Creates topics.
//!
//! Versions: 4 lets the broker choose partitions and replicas (KIP-464); 5 brought flexible fields and the
//! resulting configuration in the answer (KIP-525); 6 THROTTLING_QUOTA_EXCEEDED (KIP-599); 7 topic ids in the
//! answer (KIP-516).

use uuid::Uuid;

use crate::Message;

/// The topics to create.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 19, name = "CreateTopics", versions = "2-7", flexible = "5+", response = "CreateTopicsResponse")]
pub struct CreateTopicsRequest {
    /// One entry a topic.
    pub topics: Vec<CreatableTopic>,
    /// Milliseconds the broker may take before it answers with a timeout.
    #[field(default = 60_000)]
    pub timeout_ms: i32,
    /// Check the request and answer as if it had been done, but change nothing.
    pub validate_only: bool,
}

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatableTopic {
    /// The topic's name.
    pub name: String,
    /// How many partitions; -1 leaves it to the broker, or to `assignments`.
    pub num_partitions: i32,
    /// How many replicas a partition; -1 leaves it to the broker, or to `assignments`.
    pub replication_factor: i16,
    /// Replicas chosen by hand; empty leaves them to the broker.
    pub assignments: Vec<CreatableReplicaAssignment>,
    /// Settings that differ from the broker's defaults.
    pub configs: Vec<CreatableTopicConfig>,
}

/// One partition's replicas.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatableReplicaAssignment {
    /// The partition's number.
    pub partition_index: i32,
    /// Broker ids, the preferred leader first.
    pub broker_ids: Vec<i32>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatableTopicConfig {
    /// The setting's key.
    pub name: String,
    /// The setting's value.
    #[field(nullable = "0+")]
    pub value: Option<String>,
}

/// What became of each topic.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 19, name = "CreateTopics", versions = "2-7", flexible = "5+")]
pub struct CreateTopicsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a topic.
    pub topics: Vec<CreatableTopicResult>,
}

/// One topic's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatableTopicResult {
    /// The topic's name.
    pub name: String,
    /// The new topic's id; nil on an error.
    #[field(versions = "7+", ignorable)]
    pub topic_id: Uuid,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// Kafka error number when the settings may not be shown; 0 means none.
    #[field(versions = "5+", tag = 0, ignorable)]
    pub topic_config_error_code: i16,
    /// How many partitions the topic has; -1 on an error.
    #[field(versions = "5+", default = -1, ignorable)]
    pub num_partitions: i32,
    /// How many replicas a partition has; -1 on an error.
    #[field(versions = "5+", default = -1, ignorable)]
    pub replication_factor: i16,
    /// The topic's settings; `None` when they may not be shown.
    #[field(versions = "5+", nullable = "5+", ignorable)]
    pub configs: Option<Vec<CreatableTopicConfigs>>,
}

/// One setting of a created topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct CreatableTopicConfigs {
    /// The setting's key.
    pub name: String,
    /// The setting's value; `None` when it is sensitive.
    #[field(nullable = "0+")]
    pub value: Option<String>,
    /// Whether the setting cannot be changed.
    pub read_only: bool,
    /// Where the value comes from, in DescribeConfigs' numbers; -1 unknown.
    #[field(default = -1)]
    pub config_source: i8,
    /// Whether the value is kept secret.
    pub is_sensitive: bool,
}
