//! AddOffsetsToTxn (key 25), versions 0 to 4.
//!
//! Takes a group's committed offsets into a producer's transaction (KIP-98); transactions of version 2 do without it
//! (KIP-890).
//!
//! Versions: 3 brought flexible fields; 4 TRANSACTION_ABORTABLE (KIP-890).

use crate::Message;

/// The group whose offsets are to be committed with the transaction.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 25, name = "AddOffsetsToTxn", versions = "0-4", flexible = "3+", response = "AddOffsetsToTxnResponse")]
pub struct AddOffsetsToTxnRequest {
    /// The producer's transactional id.
    pub transactional_id: String,
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// The group's name.
    pub group_id: String,
}

/// Whether the group was taken in.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 25, name = "AddOffsetsToTxn", versions = "0-4", flexible = "3+")]
pub struct AddOffsetsToTxnResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
