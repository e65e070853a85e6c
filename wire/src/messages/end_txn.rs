//! EndTxn (key 26), versions 0 to 5.
//!
//! Commits or aborts a producer's transaction.
//!
//! Versions: 3 brought flexible fields; 4 TRANSACTION_ABORTABLE (KIP-890); 5 transactions of version 2, in which the
//! answer brings the id and epoch of the next transaction.

use crate::Message;

/// How a transaction is to end.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 26, name = "EndTxn", versions = "0-5", flexible = "3+", response = "EndTxnResponse")]
pub struct EndTxnRequest {
    /// The producer's transactional id.
    pub transactional_id: String,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether to commit; else the transaction is aborted.
    pub committed: bool,
}

/// Whether it has ended so.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 26, name = "EndTxn", versions = "0-5", flexible = "3+")]
pub struct EndTxnResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The id to go on with; -1 on an error.
    #[field(versions = "5+", default = -1, ignorable)]
    pub producer_id: i64,
    /// The epoch to go on with; -1 on an error.
    #[field(versions = "5+", default = -1, ignorable)]
    pub producer_epoch: i16,
}
