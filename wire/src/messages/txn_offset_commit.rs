//! TxnOffsetCommit (key 28), versions 0 to 6.
//!
//! Stores how far a group has read, as part of a transaction: to be seen once that is committed (KIP-98).
//!
//! Versions: 2 brought leader epochs (KIP-320); 3 flexible fields and the member that commits (KIP-447);
//! 4 TRANSACTION_ABORTABLE; 5 transactions v2, where the group is added to the transaction by this (KIP-890);
//! 6 topic ids in place of names (KIP-1319).

use uuid::Uuid;

use crate::Message;

/// A group's offsets to store with a transaction.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 28, name = "TxnOffsetCommit", versions = "0-6", flexible = "3+", response = "TxnOffsetCommitResponse")]
pub struct TxnOffsetCommitRequest {
    /// The transactional id.
    pub transactional_id: String,
    /// The group's name.
    pub group_id: String,
    /// The producer id the transactional id has now.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The member's generation or epoch; -1 commits from outside the group.
    #[field(versions = "3+", default = -1)]
    pub generation_id_or_member_epoch: i32,
    /// The committing member's id; empty from outside the group.
    #[field(versions = "3+")]
    pub member_id: String,
    /// The member's fixed identity (`group.instance.id`); `None` for a dynamic member.
    #[field(versions = "3+", nullable = "3+", default = None)]
    pub group_instance_id: Option<String>,
    /// The offsets, by topic.
    pub topics: Vec<TxnOffsetCommitRequestTopic>,
}

/// One topic's offsets.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TxnOffsetCommitRequestTopic {
    /// The topic's name.
    #[field(versions = "0-5", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "6+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<TxnOffsetCommitRequestPartition>,
}

/// One partition's offset.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TxnOffsetCommitRequestPartition {
    /// The partition's number.
    pub partition_index: i32,
    /// The next offset the group wants to read.
    pub committed_offset: i64,
    /// Leader epoch of the last record read; -1 when unknown.
    #[field(versions = "2+", default = -1, ignorable)]
    pub committed_leader_epoch: i32,
    /// Text the client wants back with the offset.
    #[field(nullable = "0+")]
    pub committed_metadata: Option<String>,
}

/// What became of each offset.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 28, name = "TxnOffsetCommit", versions = "0-6", flexible = "3+")]
pub struct TxnOffsetCommitResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// The results, by topic.
    pub topics: Vec<TxnOffsetCommitResponseTopic>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TxnOffsetCommitResponseTopic {
    /// The topic's name.
    #[field(versions = "0-5", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "6+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<TxnOffsetCommitResponsePartition>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TxnOffsetCommitResponsePartition {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
