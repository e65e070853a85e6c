//! InitProducerId (key 22), versions 0 to 5.
//!
//! Gives a producer its id and epoch, fencing older producers of the same transactional id.
//!
//! Versions: 2 brought flexible fields; 3 raising the epoch of an id one has (KIP-360); 4 PRODUCER_FENCED (KIP-588);
//! 5 TRANSACTION_ABORTABLE (KIP-890). Version 6 (two-phase commit, KIP-939) is unstable in Kafka 4.4 and left out.

use crate::Message;

/// Who wants an id.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 22, name = "InitProducerId", versions = "0-5", flexible = "2+", response = "InitProducerIdResponse")]
pub struct InitProducerIdRequest {
    /// The transactional id; `None` for a merely idempotent producer.
    #[field(nullable = "0+")]
    pub transactional_id: Option<String>,
    /// Milliseconds after which the coordinator aborts an open transaction.
    pub transaction_timeout_ms: i32,
    /// The id the producer already has; -1 for none.
    #[field(versions = "3+", default = -1)]
    pub producer_id: i64,
    /// The epoch the producer already has; -1 for none.
    #[field(versions = "3+", default = -1)]
    pub producer_epoch: i16,
}

/// The id given.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 22, name = "InitProducerId", versions = "0-5", flexible = "2+")]
pub struct InitProducerIdResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The producer's id; -1 on an error.
    #[field(default = -1)]
    pub producer_id: i64,
    /// The producer's epoch; -1 on an error.
    pub producer_epoch: i16,
}
