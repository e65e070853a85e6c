//! AddPartitionsToTxn (key 24), versions 0 to 5.
//!
//! Takes partitions into a producer's transaction before it writes to them (KIP-98). Clients send versions up to 3;
//! from 4 on brokers ask coordinators, several transactions at once.
//!
//! Versions: 3 brought flexible fields; 4 batches and verification only (KIP-890); 5 TRANSACTION_ABORTABLE.

use crate::Message;

/// The partitions to take in.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 24,
    name = "AddPartitionsToTxn",
    versions = "0-5",
    flexible = "3+",
    response = "AddPartitionsToTxnResponse"
)]
pub struct AddPartitionsToTxnRequest {
    /// The transactions, from version 4.
    #[field(versions = "4+")]
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// The producer's transactional id, up to version 3.
    #[field(versions = "0-3")]
    pub v3_and_below_transactional_id: String,
    /// The producer's id, up to version 3.
    #[field(versions = "0-3")]
    pub v3_and_below_producer_id: i64,
    /// The producer's epoch, up to version 3.
    #[field(versions = "0-3")]
    pub v3_and_below_producer_epoch: i16,
    /// The partitions, up to version 3.
    #[field(versions = "0-3")]
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

/// One producer's transaction.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AddPartitionsToTxnTransaction {
    /// The producer's transactional id.
    pub transactional_id: String,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether to answer only if the partitions are in the transaction, without taking them in.
    pub verify_only: bool,
    /// The partitions.
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AddPartitionsToTxnTopic {
    /// The topic's name.
    pub name: String,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// What became of each partition.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 24, name = "AddPartitionsToTxn", versions = "0-5", flexible = "3+")]
pub struct AddPartitionsToTxnResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number for the request as a whole; 0 means none.
    #[field(versions = "4+", ignorable)]
    pub error_code: i16,
    /// Results by transaction, from version 4.
    #[field(versions = "4+")]
    pub results_by_transaction: Vec<AddPartitionsToTxnResult>,
    /// Results by topic, up to version 3.
    #[field(versions = "0-3")]
    pub results_by_topic_v3_and_below: Vec<AddPartitionsToTxnTopicResult>,
}

/// Results of one transaction.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AddPartitionsToTxnResult {
    /// The producer's transactional id.
    pub transactional_id: String,
    /// Results by topic.
    pub topic_results: Vec<AddPartitionsToTxnTopicResult>,
}

/// Results of one topic's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AddPartitionsToTxnTopicResult {
    /// The topic's name.
    pub name: String,
    /// Results by partition.
    pub results_by_partition: Vec<AddPartitionsToTxnPartitionResult>,
}

/// Result of one partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AddPartitionsToTxnPartitionResult {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub partition_error_code: i16,
}
