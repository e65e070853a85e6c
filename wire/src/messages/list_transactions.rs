//! ListTransactions (key 66), versions 0 to 2 (KIP-664).
//!
//! Names the transactional producers a coordinator knows.
//!
//! Versions: 1 brought the filter by duration (KIP-994); 2 the one by pattern (KIP-1152).

use crate::Message;

/// Which producers; a filter that is empty takes all.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 66,
    name = "ListTransactions",
    versions = "0-2",
    flexible = "0+",
    response = "ListTransactionsResponse"
)]
pub struct ListTransactionsRequest {
    /// Names of the states wanted.
    pub state_filters: Vec<String>,
    /// Producer ids wanted.
    pub producer_id_filters: Vec<i64>,
    /// Milliseconds an open transaction must have lasted for longer; negative for any.
    #[field(versions = "1+", default = -1)]
    pub duration_filter: i64,
    /// A regular expression (RE2) the whole transactional id must match; `None` or empty for any.
    #[field(versions = "2+", nullable = "2+", default = None)]
    pub transactional_id_pattern: Option<String>,
}

/// Those found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 66, name = "ListTransactions", versions = "0-2", flexible = "0+")]
pub struct ListTransactionsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// State filters that name no state.
    pub unknown_state_filters: Vec<String>,
    /// The producers.
    pub transaction_states: Vec<TransactionState>,
}

/// One producer.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TransactionState {
    /// Its transactional id.
    pub transactional_id: String,
    /// Its id.
    pub producer_id: i64,
    /// The state's name, such as `Ongoing`.
    pub transaction_state: String,
}
