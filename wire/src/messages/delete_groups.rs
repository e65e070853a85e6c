//! DeleteGroups (key 42), versions 0 to 3.
//!
//! Deletes empty groups and their offsets (KIP-229).
//!
//! Versions: 2 brought flexible fields; 3 a message for each group.

use crate::Message;

/// The groups to delete.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 42, name = "DeleteGroups", versions = "0-3", flexible = "2+", response = "DeleteGroupsResponse")]
pub struct DeleteGroupsRequest {
    /// The groups' names.
    pub groups_names: Vec<String>,
}

/// What became of each group.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 42, name = "DeleteGroups", versions = "0-3", flexible = "2+")]
pub struct DeleteGroupsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a group.
    pub results: Vec<DeletableGroupResult>,
}

/// One group's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DeletableGroupResult {
    /// The group's name.
    pub group_id: String,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "3+", nullable = "3+", default = None, ignorable)]
    pub error_message: Option<String>,
}
