//! Records of `__consumer_offsets`: committed offsets, and classic groups with their members.
//!
//! ```text
//! key:   kind int16 (0 or 1 committed offset, 2 group), then the key struct in that "version"
//! value: version int16, then the value struct in it; a null value is a tombstone
//! ```
//!
//! The int16 is not part of the structs' encoding. Values from version 4 on are flexible, so that later fields
//! come as tags older brokers skip (KIP-915); version 3 is what stays readable everywhere.

use bytes::Bytes;
use uuid::Uuid;

use crate::Message;

/// Key of a committed offset; both versions have the same fields.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-1")]
pub struct OffsetCommitKey {
    /// The group's name.
    pub group: String,
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
}

/// Value of a committed offset.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-4", flexible = "4+")]
pub struct OffsetCommitValue {
    /// The next offset the group wants to read.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 when unknown.
    #[field(versions = "3+", default = -1, ignorable)]
    pub leader_epoch: i32,
    /// Text the client wants back with the offset.
    pub metadata: String,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub commit_timestamp: i64,
    /// When it expires, in milliseconds since the Unix epoch; -1 leaves it to the broker.
    #[field(versions = "1", default = -1, ignorable)]
    pub expire_timestamp: i64,
    /// The id of the topic the offset belongs to; nil when unknown.
    #[field(versions = "4+", tag = 0, ignorable)]
    pub topic_id: Uuid,
}

/// Key of a classic group.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "2")]
pub struct GroupMetadataKey {
    /// The group's name.
    pub group: String,
}

/// Value of a classic group: its last completed generation.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-4", flexible = "4+")]
pub struct GroupMetadataValue {
    /// The kind of group, such as `consumer`; empty when it only stores offsets.
    pub protocol_type: String,
    /// The generation's number.
    pub generation: i32,
    /// The protocol chosen; `None` for an empty group.
    #[field(nullable = "0+")]
    pub protocol: Option<String>,
    /// The leader's member id; `None` for an empty group.
    #[field(nullable = "0+")]
    pub leader: Option<String>,
    /// When the group entered its state, in milliseconds since the Unix epoch; -1 when unknown.
    #[field(versions = "2+", default = -1, ignorable)]
    pub current_state_timestamp: i64,
    /// The members, each with its assignment.
    pub members: Vec<MemberMetadata>,
}

/// One member of a classic group.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MemberMetadata {
    /// The id the coordinator gave the member.
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "3+", nullable = "3+", default = None, ignorable)]
    pub group_instance_id: Option<String>,
    /// The client id of the member's last join.
    pub client_id: String,
    /// The address the member joined from.
    pub client_host: String,
    /// Milliseconds the member has to join again; -1 uses the session timeout.
    #[field(versions = "1+", default = -1, ignorable)]
    pub rebalance_timeout: i32,
    /// Milliseconds without a heartbeat after which the member counts as gone.
    pub session_timeout: i32,
    /// What the member sent for the chosen protocol.
    pub subscription: Bytes,
    /// The member's share, in the protocol's own form.
    pub assignment: Bytes,
}
