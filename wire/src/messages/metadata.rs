//! Metadata (key 3), versions 0 to 13.
//!
//! Names the brokers, and the topics with their partitions and leaders.
//!
//! Versions: 1 brought racks, the controller and "no topics" apart from "all topics"; 2 the cluster id (KIP-78);
//! 4 leave to create topics or not; 5 offline replicas (KIP-112); 7 leader epochs (KIP-320); 8 permitted operations
//! (KIP-430); 9 flexible fields; 10 topic ids (KIP-516), which 12 accepts in the request; 11 leaves the cluster's
//! permitted operations to DescribeCluster (KIP-700); 13 an error of the whole request (KIP-1102).

use uuid::Uuid;

use crate::Message;

/// The topics to describe.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 3, name = "Metadata", versions = "0-13", flexible = "9+", response = "MetadataResponse")]
pub struct MetadataRequest {
    /// `None` asks for all topics, an empty list for none; in version 0 an empty list means all.
    #[field(nullable = "1+")]
    pub topics: Option<Vec<MetadataRequestTopic>>,
    /// Whether the broker may create topics it does not know, if it is set up to.
    #[field(versions = "4+", default = true)]
    pub allow_auto_topic_creation: bool,
    /// Ask for the operations the client may do on the cluster.
    #[field(versions = "8-10")]
    pub include_cluster_authorized_operations: bool,
    /// Ask for the operations the client may do on each topic.
    #[field(versions = "8+")]
    pub include_topic_authorized_operations: bool,
}

/// A topic to describe, by name or by id.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MetadataRequestTopic {
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// The topic's name; `None` when the id is given.
    #[field(nullable = "10+")]
    pub name: Option<String>,
}

/// The cluster as this broker sees it.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 3, name = "Metadata", versions = "0-13", flexible = "9+")]
pub struct MetadataResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "3+", ignorable)]
    pub throttle_time_ms: i32,
    /// Every broker alive.
    pub brokers: Vec<MetadataResponseBroker>,
    /// The cluster's id; `None` when unknown.
    #[field(versions = "2+", nullable = "2+", default = None, ignorable)]
    pub cluster_id: Option<String>,
    /// The broker to send administrative requests to; -1 when unknown.
    #[field(versions = "1+", default = -1, ignorable)]
    pub controller_id: i32,
    /// The topics asked for, each with its own error.
    pub topics: Vec<MetadataResponseTopic>,
    /// Bit set of permitted cluster operations; `i32::MIN` when not asked for.
    #[field(versions = "8-10", default = i32::MIN)]
    pub cluster_authorized_operations: i32,
    /// Kafka error number of the whole request, such as a wish to bootstrap anew; 0 means none.
    #[field(versions = "13+", ignorable)]
    pub error_code: i16,
}

/// One broker.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MetadataResponseBroker {
    /// The broker's id.
    pub node_id: i32,
    /// The name or address clients reach the broker at.
    pub host: String,
    /// The TCP port clients reach the broker at.
    pub port: i32,
    /// The rack the broker stands in, if it has one.
    #[field(versions = "1+", nullable = "1+", default = None, ignorable)]
    pub rack: Option<String>,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MetadataResponseTopic {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The topic's name; `None` when asked for by an unknown id.
    #[field(nullable = "12+")]
    pub name: Option<String>,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "10+", ignorable)]
    pub topic_id: Uuid,
    /// Whether the topic is one of the broker's own, such as `__consumer_offsets`.
    #[field(versions = "1+", ignorable)]
    pub is_internal: bool,
    /// One entry a partition.
    pub partitions: Vec<MetadataResponsePartition>,
    /// Bit set of permitted topic operations; `i32::MIN` when not asked for.
    #[field(versions = "8+", default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct MetadataResponsePartition {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The partition's number.
    pub partition_index: i32,
    /// The leader's broker id; -1 when there is none.
    pub leader_id: i32,
    /// The leader epoch; -1 when unknown.
    #[field(versions = "7+", default = -1, ignorable)]
    pub leader_epoch: i32,
    /// Broker ids of all replicas, the preferred leader first.
    pub replica_nodes: Vec<i32>,
    /// Broker ids of the replicas in sync.
    pub isr_nodes: Vec<i32>,
    /// Broker ids of the replicas that cannot be reached.
    #[field(versions = "5+", ignorable)]
    pub offline_replicas: Vec<i32>,
}
