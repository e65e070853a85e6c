//! DeleteTopics (key 20), versions 1 to 6.
//!
//! Deletes topics and their records.
//!
//! Versions: 4 brought flexible fields; 5 messages and THROTTLING_QUOTA_EXCEEDED (KIP-599); 6 topic ids (KIP-516),
//! moving the request's names into a list of structs.

use uuid::Uuid;

use crate::Message;

/// The topics to delete.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 20, name = "DeleteTopics", versions = "1-6", flexible = "4+", response = "DeleteTopicsResponse")]
pub struct DeleteTopicsRequest {
    /// The topics, from version 6.
    #[field(versions = "6+")]
    pub topics: Vec<DeleteTopicState>,
    /// The topics' names, up to version 5.
    #[field(versions = "1-5", ignorable)]
    pub topic_names: Vec<String>,
    /// Milliseconds the broker may take before it answers with a timeout.
    pub timeout_ms: i32,
}

/// A topic to delete, by name or by id.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeleteTopicState {
    /// The topic's name; `None` when the id is given.
    #[field(nullable = "0+", default = None)]
    pub name: Option<String>,
    /// The topic's id; nil when the name is given.
    pub topic_id: Uuid,
}

/// What became of each topic.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 20, name = "DeleteTopics", versions = "1-6", flexible = "4+")]
pub struct DeleteTopicsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a topic.
    pub responses: Vec<DeletableTopicResult>,
}

/// One topic's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeletableTopicResult {
    /// The topic's name; `None` when asked for by an unknown id.
    #[field(nullable = "6+")]
    pub name: Option<String>,
    /// The topic's id; nil when unknown.
    #[field(versions = "6+", ignorable)]
    pub topic_id: Uuid,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub error_message: Option<String>,
}
