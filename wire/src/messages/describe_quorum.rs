//! DescribeQuorum (key 55), versions 0 to 2.
//!
//! Shows who keeps the cluster's metadata (KIP-595).
//!
//! Versions: 1 tells when replicas fetched (KIP-836); 2 directories, addresses and messages (KIP-853).

use uuid::Uuid;

use crate::Message;

/// Which log.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 55, name = "DescribeQuorum", versions = "0-2", flexible = "0+", response = "DescribeQuorumResponse")]
pub struct DescribeQuorumRequest {
    /// The metadata's topic and no other.
    pub topics: Vec<TopicRequest>,
}

/// A topic to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicRequest {
    /// The topic's name.
    pub topic_name: String,
    /// The partitions wanted.
    pub partitions: Vec<PartitionRequest>,
}

/// A partition to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionRequest {
    /// The partition's number.
    pub partition_index: i32,
}

/// The quorum.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 55, name = "DescribeQuorum", versions = "0-2", flexible = "0+")]
pub struct DescribeQuorumResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "2+", nullable = "2+", ignorable)]
    pub error_message: Option<String>,
    /// One entry a topic.
    pub topics: Vec<TopicData>,
    /// Where the voters are.
    #[field(versions = "2+", ignorable)]
    pub nodes: Vec<Node>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicData {
    /// The topic's name.
    pub topic_name: String,
    /// One entry a partition.
    pub partitions: Vec<PartitionData>,
}

/// A partition of the metadata.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionData {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(versions = "2+", nullable = "2+", ignorable)]
    pub error_message: Option<String>,
    /// The node that leads; -1 when unknown.
    pub leader_id: i32,
    /// The epoch it leads in.
    pub leader_epoch: i32,
    /// Up to where a majority has the log.
    pub high_watermark: i64,
    /// Those whose votes count.
    pub current_voters: Vec<ReplicaState>,
    /// Those who only read along.
    pub observers: Vec<ReplicaState>,
}

/// How far a replica is.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReplicaState {
    /// The node's id.
    pub replica_id: i32,
    /// The id of the directory it keeps the log in.
    #[field(versions = "2+", ignorable)]
    pub replica_directory_id: Uuid,
    /// Where its log ends; -1 when unknown.
    pub log_end_offset: i64,
    /// When the leader last heard of it, milliseconds since 1970; -1 when unknown.
    #[field(versions = "1+", default = -1, ignorable)]
    pub last_fetch_timestamp: i64,
    /// When it last had everything, milliseconds since 1970; -1 when unknown.
    #[field(versions = "1+", default = -1, ignorable)]
    pub last_caught_up_timestamp: i64,
}

/// A voter's addresses.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct Node {
    /// The node's id.
    pub node_id: i32,
    /// One entry a listener.
    pub listeners: Vec<Listener>,
}

/// An address.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct Listener {
    /// The listener's name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}
