//! Producing: records are queued by partition and go out in order, batch by batch.
//!
//! ```text
//! send → Accumulator (pure: partitions, sequences, retries) → Dispatch → Connection → broker
//!                ↑                                                             │
//!                └───────────── what came of each batch ──────────────────────┘
//! ```
//!
//! With acks all the producer is idempotent (KIP-98): every batch carries producer id, epoch and sequence number, so
//! that a broker refuses repetitions and gaps, and up to five requests may be in flight without reordering. In
//! transactions ([`crate::TransactionalProducer`]) the identity comes from a coordinator, and a gate lets out one
//! transaction's records at a time.

mod accumulator;
mod batch;
mod config;
mod delivery;
mod dispatch;
mod error;
mod gate;
mod partition;
mod partitioner;
mod plan;
mod record;
mod request;
mod task;
mod topic;
mod transactions;
mod verdict;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use pillion_wire::records::{BatchBuilder, Record};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub(crate) use accumulator::CONCURRENT_BACKOFF;
pub use config::{Acks, ProducerConfig};
pub use delivery::DeliveryHandle;
pub(crate) use dispatch::Dispatch;
pub use error::ProduceError;
pub(crate) use gate::Doomed;
pub(crate) use partition::Identity;
pub use partitioner::murmur2;
pub use record::{Delivered, ProducerRecord};
pub(crate) use transactions::Unenlisted;

use accumulator::Accumulator;
use batch::Pending;
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
    pub(crate) fn start(client: Arc<ClientShared>, config: ProducerConfig, transactional_id: Option<String>) -> Self {
        let idempotent = config.acks == Acks::All;
        // A transactional producer's identity comes from its coordinator.
        let wants_identity = idempotent && transactional_id.is_none();
        let accumulator = Accumulator::new(Settings {
            batch_size: config.batch_size,
            linger: config.linger,
            max_in_flight: config.max_in_flight.clamp(1, IN_FLIGHT_MAX),
            delivery_timeout: config.delivery_timeout,
            request_timeout: client.config.request_timeout,
            compression: config.compression,
            idempotent,
            keeps_partitions: config.keeps_partitions,
            backoff: client.connector.backoff,
            random: rand::random,
        });
        let dispatch = Dispatch::new(client.clone(), &config, transactional_id, accumulator);
        let dropped = CancellationToken::new();
        client.connector.tasks.spawn(task::run(dispatch.clone(), dropped.clone(), wants_identity));
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
        let handle = self.queue(record, None, true).await?;
        handle.ok_or(ProduceError::Closed)
    }

    async fn queue(
        &self,
        record: ProducerRecord,
        transaction: Option<(u64, &TaskTracker)>,
        tracked: bool,
    ) -> Result<Option<DeliveryHandle>, ProduceError> {
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
        let (delivery, fate) = tracked.then(oneshot::channel).unzip();
        let queued = Instant::now();
        let deadline = queued + self.dispatch.delivery_timeout;
        let (number, group) = transaction.map_or((0, None), |(number, group)| (number, Some(group)));
        self.dispatch.append(&topic, group, |group| Pending {
            record,
            partition,
            transaction: number,
            bytes,
            delivery,
            memory: Some(memory),
            queued,
            deadline,
            unsettled: group.token(),
        })?;
        Ok(fate.map(|fate| DeliveryHandle::new(topic, fate, self.dispatch.clone())))
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
