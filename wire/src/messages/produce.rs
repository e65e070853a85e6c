//! Produce (key 0), versions 3 to 13.
//!
//! Appends record batches to partitions.
//!
//! Versions: 3 brought magic-2 batches and transactions (KIP-98); 5 the log start offset (KIP-107);
//! 7 zstd (KIP-110); 8 errors of single records (KIP-467); 9 flexible fields (KIP-482); 10 the new leader in
//! the answer (KIP-951); 12 lets a produce add its partition to the transaction (KIP-890); 13 topic ids in place
//! of names (KIP-516). Below 3 the format was another one and no struct here covers it.

use uuid::Uuid;

use crate::{Message, Records};

/// Record batches to append, grouped by topic and partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 0, name = "Produce", versions = "3-13", flexible = "9+", response = "ProduceResponse")]
pub struct ProduceRequest {
    /// The transactional producer's id; `None` outside transactions.
    #[field(nullable = "0+", default = None)]
    pub transactional_id: Option<String>,
    /// When to answer: 0 never, 1 once written, -1 once every in-sync replica has it.
    pub acks: i16,
    /// Milliseconds to wait for the in-sync replicas when `acks` is -1.
    pub timeout_ms: i32,
    /// The batches, by topic.
    pub topic_data: Vec<TopicProduceData>,
}

/// One topic's share of a produce request.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicProduceData {
    /// The topic's name.
    #[field(versions = "3-12", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "13+", ignorable)]
    pub topic_id: Uuid,
    /// The batches, by partition.
    pub partition_data: Vec<PartitionProduceData>,
}

/// One partition's share of a produce request.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionProduceData {
    /// The partition's number.
    pub index: i32,
    /// Exactly one magic-2 record batch.
    #[field(nullable = "0+", default = None)]
    pub records: Option<Records>,
}

/// What became of each batch; not sent at all when `acks` was 0.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 0, name = "Produce", versions = "3-13", flexible = "9+")]
pub struct ProduceResponse {
    /// The results, by topic.
    pub responses: Vec<TopicProduceResponse>,
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Addresses of the leaders named by `current_leader`.
    #[field(versions = "10+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicProduceResponse {
    /// The topic's name.
    #[field(versions = "3-12", ignorable)]
    pub name: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "13+", ignorable)]
    pub topic_id: Uuid,
    /// The results, by partition.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

/// One partition's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionProduceResponse {
    /// The partition's number.
    pub index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The offset the batch's first record received; -1 on an error.
    pub base_offset: i64,
    /// Milliseconds since the Unix epoch when the topic stamps LogAppendTime, else -1.
    #[field(default = -1)]
    pub log_append_time_ms: i64,
    /// The partition's log start offset; -1 when unknown.
    #[field(versions = "5+", default = -1, ignorable)]
    pub log_start_offset: i64,
    /// The records that made the broker refuse the whole batch.
    #[field(versions = "8+", ignorable)]
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// What the refused records have in common, for people.
    #[field(versions = "8+", nullable = "8+", default = None, ignorable)]
    pub error_message: Option<String>,
    /// The partition's leader, when this broker is not it.
    #[field(versions = "10+", tag = 0)]
    pub current_leader: LeaderIdAndEpoch,
}

/// A record at fault within a refused batch.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct BatchIndexAndErrorMessage {
    /// The record's place in the batch, from 0.
    pub batch_index: i32,
    /// What is wrong with the record, for people.
    #[field(nullable = "0+", default = None)]
    pub batch_index_error_message: Option<String>,
}

/// A partition's leader and its epoch.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct LeaderIdAndEpoch {
    /// The leader's broker id; -1 when unknown.
    #[field(default = -1)]
    pub leader_id: i32,
    /// The leader epoch; -1 when unknown.
    #[field(default = -1)]
    pub leader_epoch: i32,
}

/// A broker's address.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct NodeEndpoint {
    /// The broker's id.
    pub node_id: i32,
    /// The name or address clients reach the broker at.
    pub host: String,
    /// The TCP port clients reach the broker at.
    pub port: i32,
    /// The rack the broker stands in, if it has one.
    #[field(nullable = "0+", default = None)]
    pub rack: Option<String>,
}
