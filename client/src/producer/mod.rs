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
mod appending;
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
use tokio::sync::{OwnedSemaphorePermit, oneshot};
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
        self.queue(record, None).await
    }

    async fn queue(
        &self,
        record: ProducerRecord,
        transaction: Option<(u64, &TaskTracker)>,
    ) -> Result<DeliveryHandle, ProduceError> {
        let (topic, partition, record) = parts(record);
        let bytes = self.checked_size(&record)?;
        let memory = self.room_for(bytes).await?;
        self.dispatch.client.metadata.track(&topic, true);
        let (delivery, fate) = oneshot::channel();
        let queued = Instant::now();
        let deadline = queued + self.dispatch.delivery_timeout;
        let (number, group) = transaction.map_or((0, None), |(number, group)| (number, Some(group)));
        self.dispatch.append(&topic, group, |group| Pending {
            record,
            partition,
            transaction: number,
            bytes,
            delivery: Some(delivery),
            memory: Some(memory),
            queued,
            deadline,
            unsettled: group.token(),
        })?;
        Ok(DeliveryHandle::new(topic, fate, self.dispatch.clone()))
    }

    /// Queues records of a transaction that nobody watches one by one: what is done for each of them alone is done for
    /// all at once.
    async fn queue_all(
        &self,
        records: Vec<ProducerRecord>,
        transaction: u64,
        group: &TaskTracker,
    ) -> Result<(), ProduceError> {
        let mut records = records.into_iter().map(parts).peekable();
        while records.peek().is_some() {
            let mut taken = Vec::with_capacity(records.size_hint().0);
            let mut bytes = 0;
            while let Some((_, _, record)) = records.peek() {
                let size = self.checked_size(record)?;
                if bytes > 0 && bytes + size > self.dispatch.buffer_memory / 2 {
                    break;
                }
                bytes += size;
                taken.extend(records.next().map(|(topic, partition, record)| (topic, partition, record, size)));
            }
            let mut memory = self.room_for(bytes).await?;
            let mut tracked: Option<Arc<str>> = None;
            for (topic, ..) in &taken {
                if tracked.as_ref() != Some(topic) {
                    self.dispatch.client.metadata.track(topic, true);
                    tracked = Some(topic.clone());
                }
            }
            let queued = Instant::now();
            let deadline = queued + self.dispatch.delivery_timeout;
            self.dispatch.append_all(taken.into_iter().map(|(topic, partition, record, bytes)| {
                let pending = Pending {
                    record,
                    partition,
                    transaction,
                    bytes,
                    delivery: None,
                    memory: memory.split(bytes),
                    queued,
                    deadline,
                    unsettled: group.token(),
                };
                (topic, pending)
            }))?;
        }
        Ok(())
    }

    /// What a record takes at most, if it can fit at all.
    fn checked_size(&self, record: &Record) -> Result<usize, ProduceError> {
        let (bytes, limit) = (BatchBuilder::record_bytes_max(record), self.dispatch.buffer_memory);
        if bytes > limit { Err(ProduceError::RecordTooLarge { bytes, limit }) } else { Ok(bytes) }
    }

    /// Waits for room in the buffer memory, for no more bytes than it has.
    async fn room_for(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ProduceError> {
        let permits = bytes as u32;
        match self.dispatch.memory.clone().try_acquire_many_owned(permits) {
            Ok(memory) => Ok(memory),
            Err(_) => {
                // Nothing else may make room: what is queued must be on its way.
                self.dispatch.drive();
                let room = self.dispatch.memory.clone().acquire_many_owned(permits).await;
                room.map_err(|_| self.dispatch.ended().unwrap_or(ProduceError::Closed))
            }
        }
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

/// Topic, partition and record as it goes into a batch.
fn parts(record: ProducerRecord) -> (Arc<str>, Option<i32>, Record) {
    let ProducerRecord { topic, partition, key, value, headers, timestamp_ms } = record;
    let timestamp = timestamp_ms.unwrap_or_else(now_ms);
    (topic, partition, Record { offset: 0, timestamp, key, value, headers })
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
