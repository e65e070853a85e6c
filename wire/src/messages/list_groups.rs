//! ListGroups (key 16), versions 0 to 5.
//!
//! Lists the groups a broker coordinates.
//!
//! Versions: 3 brought flexible fields; 4 a filter by state (KIP-518); 5 a filter by type (KIP-848).

use crate::Message;

/// Which groups to list.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 16, name = "ListGroups", versions = "0-5", flexible = "3+", response = "ListGroupsResponse")]
pub struct ListGroupsRequest {
    /// States wanted, by name; empty means all.
    #[field(versions = "4+")]
    pub states_filter: Vec<String>,
    /// Types wanted, by name; empty means all.
    #[field(versions = "5+")]
    pub types_filter: Vec<String>,
}

/// The groups found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 16, name = "ListGroups", versions = "0-5", flexible = "3+")]
pub struct ListGroupsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// One entry a group.
    pub groups: Vec<ListedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ListedGroup {
    /// The group's name.
    pub group_id: String,
    /// The kind of group, such as `consumer`.
    pub protocol_type: String,
    /// The state's name.
    #[field(versions = "4+", ignorable)]
    pub group_state: String,
    /// The type's name, such as `classic` or `consumer`.
    #[field(versions = "5+", ignorable)]
    pub group_type: String,
}
