//! LeaveGroup (key 13), versions 0 to 5.
//!
//! Takes members out of a classic group.
//!
//! Versions: 3 can take several members, static ones too (KIP-345); 4 brought flexible fields; 5 a reason (KIP-800).

use crate::Message;

/// The members to take out.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 13, name = "LeaveGroup", versions = "0-5", flexible = "4+", response = "LeaveGroupResponse")]
pub struct LeaveGroupRequest {
    /// The group's name.
    pub group_id: String,
    /// The one member, up to version 2.
    #[field(versions = "0-2")]
    pub member_id: String,
    /// The members, from version 3.
    #[field(versions = "3+")]
    pub members: Vec<MemberIdentity>,
}

/// A member to take out.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MemberIdentity {
    /// The member's id; empty when its instance id is given.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(nullable = "0+", default = None)]
    pub group_instance_id: Option<String>,
    /// Why the member leaves, for logs.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub reason: Option<String>,
}

/// What became of each member.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 13, name = "LeaveGroup", versions = "0-5", flexible = "4+")]
pub struct LeaveGroupResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// One result a member, from version 3.
    #[field(versions = "3+")]
    pub members: Vec<MemberResponse>,
}

/// One member's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MemberResponse {
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(nullable = "0+")]
    pub group_instance_id: Option<String>,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
