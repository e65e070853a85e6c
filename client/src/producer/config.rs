//! A producer's settings, named as Kafka's own (`batch.size` is `batch_size`).

use std::time::Duration;

use pillion_wire::records::Compression;

/// When a record counts as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acks {
    /// When every in-sync replica has it; the producer is then idempotent (KIP-98).
    #[default]
    All,
    /// When the leader has written it. Retries may repeat records.
    Leader,
    /// When it has been handed to the socket: nothing is known of its fate, its offset is −1.
    None,
}

impl Acks {
    /// The number on the wire.
    pub(crate) fn code(self) -> i16 {
        match self {
            Self::All => -1,
            Self::Leader => 1,
            Self::None => 0,
        }
    }
}

/// A producer's settings.
#[derive(Debug, Clone)]
pub struct ProducerConfig {
    /// Bytes of one batch before compression, at most; a single larger record makes a batch of its own. 1 MiB, which
    /// is Kafka's `max.message.bytes`.
    pub batch_size: usize,
    /// How long a batch may wait for company although its broker is idle. 0: batches grow only while a request is in
    /// flight.
    pub linger: Duration,
    /// Bytes of records accepted and not yet delivered, at most; [`crate::Producer::send`] waits beyond. 32 MiB.
    pub buffer_memory: usize,
    /// Produce requests in flight a broker, 1 to 5: brokers remember the last five batches of a producer. 5.
    pub max_in_flight: usize,
    /// From `send` to success or failure, retries included. 2 minutes.
    pub delivery_timeout: Duration,
    /// How batches are compressed.
    pub compression: Compression,
    /// When a record counts as delivered.
    pub acks: Acks,
    /// Whether records with a key are refused once a topic has another number of partitions than at its first record:
    /// keys would go to other partitions, past what readers have not seen of them yet. No, as Kafka's own clients.
    pub keeps_partitions: bool,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            batch_size: 1 << 20,
            linger: Duration::ZERO,
            buffer_memory: 32 << 20,
            max_in_flight: 5,
            delivery_timeout: Duration::from_secs(120),
            compression: Compression::None,
            acks: Acks::All,
            keeps_partitions: false,
        }
    }
}
