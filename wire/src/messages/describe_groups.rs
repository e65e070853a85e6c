//! DescribeGroups (key 15), versions 0 to 6.
//!
//! Describes classic groups and their members.
//!
//! Versions: 3 brought permitted operations (KIP-430); 4 static members (KIP-345); 5 flexible fields;
//! 6 GROUP_ID_NOT_FOUND with a message in place of a dead group (KIP-1043).

use bytes::Bytes;

use crate::Message;

/// The groups to describe.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 15, name = "DescribeGroups", versions = "0-6", flexible = "5+", response = "DescribeGroupsResponse")]
pub struct DescribeGroupsRequest {
    /// The groups' names.
    pub groups: Vec<String>,
    /// Ask for the operations the client may do on each group.
    #[field(versions = "3+")]
    pub include_authorized_operations: bool,
}

/// The groups described.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 15, name = "DescribeGroups", versions = "0-6", flexible = "5+")]
pub struct DescribeGroupsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// One entry a group asked for.
    pub groups: Vec<DescribedGroup>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribedGroup {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "6+", nullable = "6+", default = None)]
    pub error_message: Option<String>,
    /// The group's name.
    pub group_id: String,
    /// The state's name: `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable` or `Dead`.
    pub group_state: String,
    /// The kind of group, such as `consumer`.
    pub protocol_type: String,
    /// The protocol chosen; empty unless the group is stable.
    pub protocol_data: String,
    /// The members; empty when the group is dead.
    pub members: Vec<DescribedGroupMember>,
    /// Bit set of permitted group operations; `i32::MIN` when not asked for.
    #[field(versions = "3+", default = i32::MIN)]
    pub authorized_operations: i32,
}

/// One member of a group.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribedGroupMember {
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "4+", nullable = "4+", default = None, ignorable)]
    pub group_instance_id: Option<String>,
    /// The client id of the member's last join.
    pub client_id: String,
    /// The address the member joined from.
    pub client_host: String,
    /// What the member sent for the chosen protocol; empty unless stable.
    pub member_metadata: Bytes,
    /// The member's share; empty unless stable.
    pub member_assignment: Bytes,
}
