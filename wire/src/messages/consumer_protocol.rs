//! The consumer protocol: what consumers put into JoinGroup's and SyncGroup's opaque bytes, versions 0 to 3.
//!
//! A member joins with a [`ConsumerProtocolSubscription`]; the leader hands out a [`ConsumerProtocolAssignment`]
//! to each. Both are preceded by their version as an int16, which the encoding here does not include. A newer
//! version only appends fields, so a reader takes an unknown version for the newest it knows and leaves the rest.
//!
//! Versions: 1 brought the partitions owned (KIP-429); 2 the generation they are from (KIP-792); 3 racks (KIP-881).

use bytes::Bytes;

use crate::Message;

/// What a member wants to read, and what it holds already.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-3")]
pub struct ConsumerProtocolSubscription {
    /// Names of the topics wanted.
    pub topics: Vec<String>,
    /// The assignor's own bytes.
    #[field(nullable = "0+", default = None)]
    pub user_data: Option<Bytes>,
    /// The partitions the member holds from its last assignment.
    #[field(versions = "1+", ignorable)]
    pub owned_partitions: Vec<TopicPartition>,
    /// The generation in which it got them; -1 when unknown.
    #[field(versions = "2+", default = -1, ignorable)]
    pub generation_id: i32,
    /// The member's rack, if it has one.
    #[field(versions = "3+", nullable = "3+", default = None, ignorable)]
    pub rack_id: Option<String>,
}

/// What a member shall read.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-3")]
pub struct ConsumerProtocolAssignment {
    /// The partitions assigned, by topic.
    pub assigned_partitions: Vec<TopicPartition>,
    /// The assignor's own bytes.
    #[field(nullable = "0+", default = None)]
    pub user_data: Option<Bytes>,
}

/// Some of one topic's partitions; subscription and assignment have the same form.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: String,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}
