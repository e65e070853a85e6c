//! Producing: records are queued by partition and go out in order, batch by batch.
//!
//! ```text
//! send → Accumulator (pure: partitions, sequences, retries) → Dispatch → Connection → broker
//!                ↑                                                             │
//!                └───────────── what came of each batch ──────────────────────┘
//! ```
//!
//! With acks all the producer is idempotent (KIP-98): every batch carries producer id, epoch and sequence number, so
//! that a broker refuses repetitions and gaps, and up to five requests may be in flight without reordering. For
//! transactions a stamp would carry the transactional flag and an identity come from a coordinator; nothing else in
//! the accumulator would change.

mod accumulator;
mod batch;
mod config;
mod delivery;
mod dispatch;
mod error;
mod partition;
mod partitioner;
mod plan;
mod record;
mod request;
mod task;
mod topic;
mod verdict;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use pillion_wire::records::{BatchBuilder, Record};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use config::{Acks, ProducerConfig};
pub use delivery::DeliveryHandle;
pub use error::ProduceError;
pub use partitioner::murmur2;
pub use record::{Delivered, ProducerRecord};

use accumulator::Accumulator;
use batch::Pending;
use dispatch::Dispatch;
use plan::Settings;

use crate::client::ClientShared;

/// Brokers remember the last five batches of a producer: with more in flight a repetition could go unnoticed.
const IN_FLIGHT_MAX: usize = 5;

/// A producer. Clones queue into the same batches; it ends when the last clone is dropped: flush before.
#[derive(Clone)]
pub struct Producer {
    dispatch: Arc<Dispatch>,
    _alive: Arc<DropGuard>,
}

impl Producer {
    pub(crate) fn start(client: Arc<ClientShared>, config: ProducerConfig) -> Self {
        let idempotent = config.acks == Acks::All;
        let accumulator = Accumulator::new(Settings {
            batch_size: config.batch_size,
            linger: config.linger,
            max_in_flight: config.max_in_flight.clamp(1, IN_FLIGHT_MAX),
            delivery_timeout: config.delivery_timeout,
            request_timeout: client.config.request_timeout,
            compression: config.compression,
            idempotent,
            backoff: client.connector.backoff,
            random: rand::random,
        });
        let dispatch = Dispatch::new(client.clone(), &config, accumulator);
        let dropped = CancellationToken::new();
        client.connector.tasks.spawn(task::run(dispatch.clone(), dropped.clone(), idempotent));
        Self { dispatch, _alive: Arc::new(dropped.drop_guard()) }
    }

    /// Queues a record and gives a future of its fate. One task's records are queued in the order of its calls, and
    /// those of a partition keep that order in the log, through retries.
    ///
    /// Waits only while the buffer memory is exhausted.
    ///
    /// # Errors
    /// [`ProduceError::RecordTooLarge`] when it could never fit, [`ProduceError::UnknownPartition`], and whatever the
    /// producer has ended with.
    pub async fn send(&self, record: ProducerRecord) -> Result<DeliveryHandle, ProduceError> {
        let ProducerRecord { topic, partition, key, value, headers, timestamp_ms } = record;
        let record = Record { offset: 0, timestamp: timestamp_ms.unwrap_or_else(now_ms), key, value, headers };
        let bytes = BatchBuilder::record_bytes_max(&record);
        if bytes > self.dispatch.buffer_memory {
            return Err(ProduceError::RecordTooLarge { bytes, limit: self.dispatch.buffer_memory });
        }
        let permits = bytes as u32;
        let memory = match self.dispatch.memory.clone().try_acquire_many_owned(permits) {
            Ok(memory) => memory,
            Err(_) => {
                // Nothing else may make room: what is queued must be on its way.
                self.dispatch.drive();
                let room = self.dispatch.memory.clone().acquire_many_owned(permits).await;
                room.map_err(|_| self.dispatch.ended().unwrap_or(ProduceError::Closed))?
            }
        };
        self.dispatch.client.metadata.track(&topic, true);
        let (delivery, fate) = oneshot::channel();
        let queued = Instant::now();
        let deadline = queued + self.dispatch.delivery_timeout;
        self.dispatch.append(&topic, |group| Pending {
            record,
            partition,
            bytes,
            delivery,
            memory: Some(memory),
            queued,
            deadline,
            unsettled: group.token(),
        })?;
        Ok(DeliveryHandle::new(topic, fate, self.dispatch.clone()))
    }

    /// Waits until every record queued before is delivered or has failed; each one's own handle tells which.
    ///
    /// # Errors
    /// What the producer has ended with.
    pub async fn flush(&self) -> Result<(), ProduceError> {
        self.dispatch.flush().await;
        self.dispatch.ended().map_or(Ok(()), Err)
    }
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Producer").finish_non_exhaustive()
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
