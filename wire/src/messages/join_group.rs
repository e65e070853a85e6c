//! JoinGroup (key 11), versions 0 to 9.
//!
//! Enters a classic group and waits for its next generation.
//!
//! Versions: 1 brought the rebalance timeout (KIP-62); 4 makes a new member come back with the id it was given
//! (KIP-394); 5 static members (KIP-345); 6 flexible fields; 7 the protocol type in the answer (KIP-559); 8 a
//! reason (KIP-800); 9 lets a static leader skip the assignment (KIP-814). Versions 0 and 1 stay, for older
//! clients break without them (KAFKA-19444).

use bytes::Bytes;

use crate::Message;

/// A member's wish to join, or to join again.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 11, name = "JoinGroup", versions = "0-9", flexible = "6+", response = "JoinGroupResponse")]
pub struct JoinGroupRequest {
    /// The group's name.
    pub group_id: String,
    /// Milliseconds without a heartbeat after which the member counts as gone.
    pub session_timeout_ms: i32,
    /// Milliseconds members have to join again; version 0 uses the session timeout.
    #[field(versions = "1+", default = -1, ignorable)]
    pub rebalance_timeout_ms: i32,
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "5+", nullable = "5+", default = None)]
    pub group_instance_id: Option<String>,
    /// The kind of group, such as `consumer`.
    pub protocol_type: String,
    /// What the member can do, most wanted first.
    pub protocols: Vec<JoinGroupRequestProtocol>,
    /// Why the member joins, for logs.
    #[field(versions = "8+", nullable = "8+", default = None, ignorable)]
    pub reason: Option<String>,
}

/// One protocol a member can do.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct JoinGroupRequestProtocol {
    /// The protocol's name, such as the assignor `range`.
    pub name: String,
    /// What the protocol needs to know; consumers send a subscription.
    pub metadata: Bytes,
}

/// The generation entered; only the leader learns the members.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 11, name = "JoinGroup", versions = "0-9", flexible = "6+")]
pub struct JoinGroupResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "2+", ignorable)]
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The new generation; -1 on an error.
    #[field(default = -1)]
    pub generation_id: i32,
    /// The kind of group, such as `consumer`.
    #[field(versions = "7+", nullable = "7+", default = None, ignorable)]
    pub protocol_type: Option<String>,
    /// The protocol the coordinator chose.
    #[field(nullable = "7+")]
    pub protocol_name: Option<String>,
    /// The member id of the leader, who assigns.
    pub leader: String,
    /// Tells the leader to keep the assignment the group has.
    #[field(versions = "9+")]
    pub skip_assignment: bool,
    /// The id of the member answered.
    pub member_id: String,
    /// All members, for the leader; empty for the others.
    pub members: Vec<JoinGroupResponseMember>,
}

/// One member, as the leader sees it.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct JoinGroupResponseMember {
    /// The id the coordinator gave the member; empty before it has one.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub group_instance_id: Option<String>,
    /// What the member sent for the chosen protocol.
    pub metadata: Bytes,
}
