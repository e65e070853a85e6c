//! A transactional producer's settings.

use std::time::Duration;

use crate::producer::ProducerConfig;

/// A transactional producer's settings, named as Kafka's own.
#[derive(Debug, Clone)]
pub struct TransactionalConfig {
    /// Names the producer across restarts: a new one fences the one before, and ends what that left open.
    pub transactional_id: String,
    /// After this time the broker aborts a transaction that is not ended. Readers of committed records wait for it as
    /// long, so a crash holds them up by no more. 1 minute.
    pub transaction_timeout: Duration,
    /// How long a request to a coordinator is tried again before it is given up (`max.block.ms`). 1 minute.
    pub max_block: Duration,
    /// Transactions begun and not ended, the one being filled included, 1 to 16; [`crate::TransactionalProducer::begin`]
    /// waits beyond. 2: one is filled while the one before is committed.
    pub max_in_flight_transactions: usize,
    /// How records are batched and sent; acks are always all.
    pub producer: ProducerConfig,
}

impl TransactionalConfig {
    /// The defaults for a transactional id.
    #[must_use]
    pub fn new(transactional_id: impl Into<String>) -> Self {
        Self {
            transactional_id: transactional_id.into(),
            transaction_timeout: Duration::from_secs(60),
            max_block: Duration::from_secs(60),
            max_in_flight_transactions: 2,
            producer: ProducerConfig::default(),
        }
    }
}
