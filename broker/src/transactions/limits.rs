//! What bounds transactions: Kafka's settings by their own names, and the limits Kafka leaves open.

use std::time::Duration;

use crate::config::BrokerConfig;

/// Transactional ids one partition of `__transaction_state` keeps in memory, some 300 bytes each. A producer beyond it
/// gets COORDINATOR_NOT_AVAILABLE.
pub(crate) const TRANSACTIONS_PER_SHARD_MAX: usize = 100_000;

/// Bytes of a transactional id: what fits the record's key with room to spare.
pub(crate) const TRANSACTIONAL_ID_BYTES_MAX: usize = 16 * 1024;

/// Requests that wait for one transaction to end. Those beyond get CONCURRENT_TRANSACTIONS, and come again.
pub(crate) const WAITING_MAX: usize = 16;

/// Settings of the transaction coordinator.
#[derive(Clone, Debug)]
pub(crate) struct TransactionLimits {
    /// `transaction.max.timeout.ms`: the longest timeout a producer may ask for.
    pub(crate) timeout_max: Duration,
    /// `transactional.id.expiration.ms`: how long an idle id is remembered.
    pub(crate) id_expiration: Duration,
}

impl Default for TransactionLimits {
    fn default() -> Self {
        Self { timeout_max: Duration::from_secs(900), id_expiration: Duration::from_secs(7 * 24 * 3600) }
    }
}

impl From<&BrokerConfig> for TransactionLimits {
    fn from(config: &BrokerConfig) -> Self {
        Self { timeout_max: config.transaction_timeout_max, id_expiration: config.transactional_id_expiration }
    }
}
