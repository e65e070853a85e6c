//! DescribeTransactions (key 65), version 0 (KIP-664).
//!
//! Tells how transactional producers stand with their coordinator.

use crate::Message;

/// Which producers.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 65,
    name = "DescribeTransactions",
    versions = "0",
    flexible = "0+",
    response = "DescribeTransactionsResponse"
)]
pub struct DescribeTransactionsRequest {
    /// Their transactional ids.
    pub transactional_ids: Vec<String>,
}

/// How each stands.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 65, name = "DescribeTransactions", versions = "0", flexible = "0+")]
pub struct DescribeTransactionsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One for each transactional id asked for.
    pub transaction_states: Vec<TransactionState>,
}

/// How one producer stands.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TransactionState {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The transactional id.
    pub transactional_id: String,
    /// The state's name, such as `Ongoing`.
    pub transaction_state: String,
    /// Milliseconds after which an open transaction is aborted.
    pub transaction_timeout_ms: i32,
    /// When the transaction began, in milliseconds since the Unix epoch; -1 when none is open.
    pub transaction_start_time_ms: i64,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The partitions in the transaction.
    pub topics: Vec<TopicData>,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicData {
    /// The topic's name.
    pub topic: String,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}
