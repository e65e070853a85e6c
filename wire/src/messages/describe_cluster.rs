//! DescribeCluster (key 60), versions 0 to 2.
//!
//! Names the cluster, its controller and its brokers (KIP-700).
//!
//! Versions: 1 tells broker and controller listeners apart (KIP-919); 2 can show fenced brokers (KIP-1073).

use crate::Message;

/// What to show of the cluster.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 60, name = "DescribeCluster", versions = "0-2", flexible = "0+", response = "DescribeClusterResponse")]
pub struct DescribeClusterRequest {
    /// Ask for the operations the client may do on the cluster.
    pub include_cluster_authorized_operations: bool,
    /// The nodes wanted: 1 brokers, 2 controllers.
    #[field(versions = "1+", default = 1)]
    pub endpoint_type: i8,
    /// Show brokers that are fenced, too.
    #[field(versions = "2+")]
    pub include_fenced_brokers: bool,
}

/// The cluster.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 60, name = "DescribeCluster", versions = "0-2", flexible = "0+")]
pub struct DescribeClusterResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+", default = None)]
    pub error_message: Option<String>,
    /// The nodes shown: 1 brokers, 2 controllers.
    #[field(versions = "1+", default = 1)]
    pub endpoint_type: i8,
    /// The cluster's id.
    pub cluster_id: String,
    /// The broker to send administrative requests to; -1 when unknown.
    #[field(default = -1)]
    pub controller_id: i32,
    /// One entry a node.
    pub brokers: Vec<DescribeClusterBroker>,
    /// Bit set of permitted cluster operations; `i32::MIN` when not asked for.
    #[field(default = i32::MIN)]
    pub cluster_authorized_operations: i32,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeClusterBroker {
    /// The node's id.
    pub broker_id: i32,
    /// The name or address clients reach the node at.
    pub host: String,
    /// The TCP port clients reach the node at.
    pub port: i32,
    /// The rack the node stands in, if it has one.
    #[field(nullable = "0+", default = None)]
    pub rack: Option<String>,
    /// Whether the node is fenced off from clients.
    #[field(versions = "2+")]
    pub is_fenced: bool,
}
