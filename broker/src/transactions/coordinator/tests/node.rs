//! A coordinator, the partitions transactions write to, and short ways to ask and to look.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchBuilder, BatchHeader, BatchProducer, Compression, Record, read_batch, read_marker};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::super::action::Answer;
use super::super::super::event::{AddPartitions, End, Init, ProducerIdentity, Protocol, TopicPartition};
use super::super::super::limits::TransactionLimits;
use super::super::{HostedShard, TRANSACTIONS_TOPIC, TransactionCoordinator};
use crate::catalogue::{Topic, Topics};
use crate::config::{BrokerConfig, Durability};
use crate::disk::{Disk, OpenFiles, SimulatedDisk};
use crate::groups::coordinator::GroupCoordinator;
use crate::groups::limits::GroupLimits;
use crate::log::{Log, LogConfig, Opening, ReadFrom};
use crate::partition::{AppendError, Isolation, Partition, PartitionOffsets, PartitionShared, SpaceGuard};
use crate::sync::{DirtyBytes, SyncScheduler};
use crate::topic_config::TopicConfig;

pub(super) const LONG: Duration = Duration::from_secs(20);
pub(super) const ID: &str = "payments";
pub(super) const ORDERS: &str = "orders";
const PARTITIONS: i32 = 3;

/// A coordinator over one partition of `__transaction_state`, and three partitions of `orders`.
pub(super) struct Node {
    pub(super) coordinator: Arc<TransactionCoordinator>,
    pub(super) state: Arc<Partition>,
    pub(super) orders: Vec<Arc<Partition>>,
    pub(super) topics: Arc<Topics>,
    pub(super) scheduler: SyncScheduler,
    /// Ends the keeping of time.
    stop: CancellationToken,
}

pub(super) type Told = oneshot::Receiver<Result<Answer, ErrorCode>>;

impl Node {
    /// Opens what is on the disk and takes over; `leader_epoch` counts the starts.
    pub(super) async fn start(disk: &SimulatedDisk, leader_epoch: i32) -> Self {
        let node = Self::open(disk, leader_epoch);
        node.lead().await;
        node
    }

    /// As [`Node::start`], without a coordinator yet.
    pub(super) fn open(disk: &SimulatedDisk, leader_epoch: i32) -> Self {
        disk.create_directory("/data".as_ref()).expect("makes");
        let shared = Arc::new(PartitionShared {
            files: Arc::new(OpenFiles::new(Arc::new(disk.clone()), 64)),
            scheduler: SyncScheduler::default(),
            dirty: DirtyBytes::default(),
            space: SpaceGuard::new("/data".into(), None),
            metrics: Arc::default(),
            durability: Durability::Sync,
            leader_epoch,
        });
        let topic = |name: &str, count| topic(&shared, name, count);
        let (state, orders) = (topic(TRANSACTIONS_TOPIC, 1), topic(ORDERS, PARTITIONS));
        // What recovery found may be in the page cache only.
        disk.sync_all("/data".as_ref()).expect("syncs");
        let topics = Arc::new(Topics::default());
        topics.add([Arc::clone(&state), Arc::clone(&orders)]);
        let groups = Arc::new(GroupCoordinator::new(GroupLimits::default()));
        let coordinator =
            TransactionCoordinator::new(TransactionLimits::default(), Arc::clone(&topics), groups, leader_epoch);
        Self {
            coordinator: Arc::new(coordinator),
            state: Arc::clone(&state.partitions[0]),
            orders: orders.partitions.clone(),
            topics,
            scheduler: shared.scheduler.clone(),
            stop: CancellationToken::new(),
        }
    }

    pub(super) async fn lead(&self) {
        let (leading, led) = (Arc::clone(&self.coordinator), vec![Arc::clone(&self.state)]);
        tokio::task::spawn_blocking(move || leading.lead(&led)).await.expect("leads");
    }

    /// From here on timeouts pass, and markers that failed are tried again.
    pub(super) fn keep_time(&self) {
        tokio::spawn(Arc::clone(&self.coordinator.shards).keep_time(self.stop.clone()));
    }

    /// Ends its threads and tasks. Blocks.
    pub(super) fn end(&self) {
        self.stop.cancel();
        self.scheduler.stop();
    }

    pub(super) fn shard(&self) -> Arc<HostedShard> {
        Arc::clone(self.coordinator.shard(ID).expect("leads"))
    }

    pub(super) fn begin_init(&self, fresh_producer_id: Option<i64>, timeout_ms: i32) -> Told {
        let (reply, told) = replying();
        let init = |waiter| Init { waiter, timeout_ms, current: None, fresh_producer_id };
        self.shard().init(&Arc::from(ID), init, reply);
        told
    }

    /// A producer that takes the id over.
    pub(super) async fn init(&self) -> ProducerIdentity {
        match answer(self.begin_init(Some(7), 60_000)).await {
            Ok(Answer::Producer(producer)) => producer,
            other => panic!("not a producer: {other:?}"),
        }
    }

    pub(super) async fn add(
        &self,
        producer: ProducerIdentity,
        protocol: Protocol,
        partitions: impl IntoIterator<Item = i32>,
    ) -> Result<Answer, ErrorCode> {
        let partitions: Vec<TopicPartition> = partitions.into_iter().map(|index| (Arc::from(ORDERS), index)).collect();
        let (reply, told) = replying();
        let add = |waiter| AddPartitions { waiter, producer, protocol, partitions };
        self.shard().add_partitions(&Arc::from(ID), add, reply);
        answer(told).await
    }

    pub(super) fn begin_end(&self, producer: ProducerIdentity, protocol: Protocol, commit: bool) -> Told {
        let (reply, told) = replying();
        let end = |waiter| End { waiter, producer, protocol, commit, fresh_producer_id: None };
        self.shard().end(&Arc::from(ID), end, reply);
        told
    }

    pub(super) async fn end_transaction(
        &self,
        producer: ProducerIdentity,
        protocol: Protocol,
        commit: bool,
    ) -> Result<Answer, ErrorCode> {
        answer(self.begin_end(producer, protocol, commit)).await
    }

    /// Writes one value as Produce does, and waits until it is durable.
    pub(super) async fn write(
        &self,
        producer: ProducerIdentity,
        index: i32,
        sequence: i32,
        value: i64,
    ) -> Result<(), ErrorCode> {
        let next_offset = self.append(producer, index, sequence, value)?;
        let (tell, told) = oneshot::channel();
        let partition = &self.orders[index as usize];
        partition.when_durable(next_offset, Box::new(move |result| drop(tell.send(result))));
        let durable = tokio::time::timeout(LONG, told).await.expect("is told in time").expect("is told");
        durable.map_err(|error| ErrorCode::from(&error))
    }

    /// Writes one value as Produce does; answers the offset behind it.
    pub(super) fn append(
        &self,
        producer: ProducerIdentity,
        index: i32,
        sequence: i32,
        value: i64,
    ) -> Result<i64, ErrorCode> {
        let partition = &self.orders[index as usize];
        let batch = batch(producer, sequence, value);
        let header = BatchHeader::parse(&batch).expect("is whole");
        loop {
            let guard = partition.guard(producer.id, producer.epoch);
            if guard.is_some() {
                self.shard().verify(&Arc::from(ID), producer, &(Arc::from(ORDERS), index))?;
            }
            match partition.append_in_transaction(&batch, header, guard) {
                Ok(appended) => return Ok(appended.next_offset),
                Err(AppendError::TransactionEnded) => {}
                Err(error) => return Err(ErrorCode::from(&error)),
            }
        }
    }

    pub(super) fn offsets(&self) -> Vec<PartitionOffsets> {
        self.orders.iter().map(|partition| partition.offsets()).collect()
    }

    /// Waits until no transaction holds readers up.
    pub(super) async fn until_stable(&self, what: &str) {
        let stable = async {
            while self.offsets().iter().any(|offsets| offsets.last_stable_offset < offsets.log_end_offset) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let stable = tokio::time::timeout(LONG, stable).await;
        stable.unwrap_or_else(|_| panic!("{what}: a transaction hangs: {:?}", self.offsets()));
    }

    /// What a `read_committed` consumer makes of a partition: values in order.
    pub(super) fn committed(&self, index: i32) -> Vec<i64> {
        let partition = &self.orders[index as usize];
        let offsets = partition.offsets();
        let (mut offset, mut values) = (offsets.log_start_offset, Vec::new());
        while offset < offsets.last_stable_offset {
            let slice = partition.read(offset, 1 << 20, ReadFrom::Disk, Isolation::ReadCommitted).expect("reads");
            let Some(slice) = slice else { break };
            let mut bytes = vec![0; slice.length];
            let length = slice.file.read_at(slice.position, &mut bytes).expect("reads");
            let bytes = Bytes::from(bytes).slice(..length);
            let aborted = partition.aborted_transactions(offset, length, offsets.last_stable_offset).expect("reads");
            let mut aborted: BTreeMap<i64, BTreeSet<i64>> =
                aborted.into_iter().fold(BTreeMap::new(), |mut by, entry| {
                    by.entry(entry.producer_id).or_default().insert(entry.first_offset);
                    by
                });
            let mut position = 0;
            while let Ok(header) = BatchHeader::parse(&bytes[position..]) {
                let batch = bytes.slice(position..position + header.size());
                position += header.size();
                offset = header.next_offset();
                let of_producer = aborted.entry(header.producer_id).or_default();
                let is_aborted = of_producer.first().is_some_and(|first| *first <= header.base_offset);
                if let Some(marker) = read_marker(&batch).expect("reads") {
                    if !marker.commit && is_aborted {
                        of_producer.pop_first();
                    }
                } else if !is_aborted {
                    let (_, records) = read_batch(&batch).expect("reads");
                    values.extend(records.into_iter().map(|record| number(record.value.as_ref())));
                }
            }
        }
        values
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn topic(shared: &Arc<PartitionShared>, name: &str, count: i32) -> Arc<Topic> {
    let config = Arc::new(LogConfig { segment_bytes: 1 << 20, grow_ahead_bytes: 4096, ..LogConfig::default() });
    let opening =
        Opening { clean: false, recovery_point: 0, is_known: true, log_start_offset: 0, cleaned_to: None, now_ms: 0 };
    let name: Arc<str> = name.into();
    let partition = |index| {
        let directory = PathBuf::from(format!("/data/{name}-{index}"));
        let log = Log::open(Arc::clone(&shared.files), &directory, Uuid::nil(), Arc::clone(&config), opening);
        let is_internal = &*name == TRANSACTIONS_TOPIC;
        Arc::new(Partition::new(Arc::clone(&name), index, is_internal, log.expect("opens"), Arc::clone(shared)))
    };
    let partitions = (0..count).map(partition).collect();
    let defaults = BrokerConfig::new("/data", "127.0.0.1:0").topic_defaults();
    let config = TopicConfig::new::<&str, &str>([], &defaults).expect("is valid");
    Arc::new(Topic { name, id: Uuid::nil(), partitions, config })
}

pub(super) fn batch(producer: ProducerIdentity, base_sequence: i32, value: i64) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(&Record { value: Some(Bytes::copy_from_slice(&value.to_be_bytes())), ..Record::default() });
    let producer = BatchProducer { id: producer.id, epoch: producer.epoch, base_sequence, transactional: true };
    builder.build(Some(producer)).expect("builds")
}

fn number(value: Option<&Bytes>) -> i64 {
    i64::from_be_bytes(value.expect("has a value")[..].try_into().expect("is a number"))
}

pub(super) fn replying() -> (crate::hosting::Reply<Answer>, Told) {
    let (tell, told) = oneshot::channel();
    let reply = move |outcome| {
        let _ = tell.send(outcome);
    };
    (Box::new(reply), told)
}

pub(super) async fn answer(told: Told) -> Result<Answer, ErrorCode> {
    let answer = tokio::time::timeout(LONG, told).await.expect("is answered in time").expect("is answered")?;
    match answer {
        Answer::Refused(error) => Err(error),
        answer => Ok(answer),
    }
}
