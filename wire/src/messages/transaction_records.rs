//! Records of `__transaction_state`: one transactional producer each.
//!
//! ```text
//! key:   version int16 (0), then the key struct
//! value: version int16, then the value struct in it; a null value is a tombstone
//! ```
//!
//! The int16 is not part of the structs' encoding. Version 1 is flexible, so that later fields come as tags older
//! brokers skip (KIP-915).

use crate::Message;

/// Key of a transactional producer.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0")]
pub struct TransactionLogKey {
    /// Its transactional id.
    pub transactional_id: String,
}

/// How a transactional producer stands.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-1", flexible = "1+")]
pub struct TransactionLogValue {
    /// The producer id in use.
    pub producer_id: i64,
    /// The id that the last transaction ended with, when the id has changed since; -1 otherwise.
    #[field(versions = "1+", tag = 0, default = -1, ignorable)]
    pub previous_producer_id: i64,
    /// The id given out for the next transaction, while this one is ending; -1 otherwise.
    #[field(versions = "1+", tag = 1, default = -1, ignorable)]
    pub next_producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The epoch that belongs to `next_producer_id`; -1 for none.
    #[field(versions = "1+", tag = 3, default = -1, ignorable)]
    pub next_producer_epoch: i16,
    /// Milliseconds after which an open transaction is aborted.
    pub transaction_timeout_ms: i32,
    /// The state's number.
    pub transaction_status: i8,
    /// The partitions in the transaction; `None` when it has none.
    #[field(nullable = "0+")]
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    /// When the state last changed, in milliseconds since the Unix epoch.
    pub transaction_last_update_timestamp_ms: i64,
    /// When the transaction began, in milliseconds since the Unix epoch; -1 for none.
    pub transaction_start_timestamp_ms: i64,
    /// Version of transactions the client speaks: 2 from KIP-890 on.
    #[field(versions = "1+", tag = 2, ignorable)]
    pub client_transaction_version: i16,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionsSchema {
    /// The topic's name.
    pub topic: String,
    /// The partitions' numbers.
    pub partition_ids: Vec<i32>,
}
