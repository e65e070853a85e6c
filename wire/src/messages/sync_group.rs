//! SyncGroup (key 14), versions 0 to 5.
//!
//! Hands the leader's assignment to the coordinator and each member its share.
//!
//! Versions: 3 brought static members (KIP-345); 4 flexible fields; 5 the protocol's type and name (KIP-559).

use bytes::Bytes;

use crate::Message;

/// The leader's assignment, or a follower's wait for its share.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 14, name = "SyncGroup", versions = "0-5", flexible = "4+", response = "SyncGroupResponse")]
pub struct SyncGroupRequest {
    /// The group's name.
    pub group_id: String,
    /// The group's generation the member believes in.
    pub generation_id: i32,
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "3+", nullable = "3+", default = None)]
    pub group_instance_id: Option<String>,
    /// The kind of group, such as `consumer`.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub protocol_type: Option<String>,
    /// The protocol the member believes was chosen.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub protocol_name: Option<String>,
    /// Every member's share, from the leader; empty from the others.
    pub assignments: Vec<SyncGroupRequestAssignment>,
}

/// One member's share.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct SyncGroupRequestAssignment {
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The share, in the protocol's own form.
    pub assignment: Bytes,
}

/// The share of the member answered.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 14, name = "SyncGroup", versions = "0-5", flexible = "4+")]
pub struct SyncGroupResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The kind of group, such as `consumer`.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub protocol_type: Option<String>,
    /// The protocol the group uses.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub protocol_name: Option<String>,
    /// The share, in the protocol's own form.
    pub assignment: Bytes,
}
