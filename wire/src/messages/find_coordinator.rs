//! FindCoordinator (key 10), versions 0 to 6.
//!
//! Names the broker that coordinates a group or a transactional producer.
//!
//! Versions: 1 brought transactional producers (KIP-98); 3 flexible fields; 4 several keys a request (KIP-699),
//! moving the answer into a list; 5 TRANSACTION_ABORTABLE (KIP-890); 6 share groups (KIP-932).

use crate::Message;

/// The keys whose coordinators are wanted.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 10, name = "FindCoordinator", versions = "0-6", flexible = "3+", response = "FindCoordinatorResponse")]
pub struct FindCoordinatorRequest {
    /// The group or transactional id, up to version 3.
    #[field(versions = "0-3")]
    pub key: String,
    /// What the keys are: 0 groups, 1 transactional ids, 2 share-group partitions.
    #[field(versions = "1+")]
    pub key_type: i8,
    /// The group or transactional ids, from version 4.
    #[field(versions = "4+")]
    pub coordinator_keys: Vec<String>,
}

/// The coordinators: flat up to version 3, a list from version 4.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 10, name = "FindCoordinator", versions = "0-6", flexible = "3+")]
pub struct FindCoordinatorResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    #[field(versions = "0-3")]
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "1-3", nullable = "1-3", ignorable)]
    pub error_message: Option<String>,
    /// The coordinator's broker id; -1 on an error.
    #[field(versions = "0-3")]
    pub node_id: i32,
    /// The name or address clients reach the coordinator at.
    #[field(versions = "0-3")]
    pub host: String,
    /// The TCP port clients reach the coordinator at; -1 on an error.
    #[field(versions = "0-3")]
    pub port: i32,
    /// One entry a key, from version 4.
    #[field(versions = "4+")]
    pub coordinators: Vec<Coordinator>,
}

/// One key's coordinator.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct Coordinator {
    /// The group or transactional id asked for.
    pub key: String,
    /// The coordinator's broker id; -1 on an error.
    pub node_id: i32,
    /// The name or address clients reach the coordinator at.
    pub host: String,
    /// The TCP port clients reach the coordinator at; -1 on an error.
    pub port: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
}
