//! A producer's accumulator with a broker that keeps sequence numbers as Kafka does.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pillion_wire::ErrorCode;
use pillion_wire::messages::MetadataResponse;
use pillion_wire::messages::metadata::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use pillion_wire::records::{BatchBuilder, BatchHeader, Compression, Record, read_batch};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use crate::backoff::Backoff;
use crate::connection::ConnectionError;
use crate::metadata::Cluster;
use crate::producer::ProduceError;
use crate::producer::accumulator::{Accumulator, Slot};
use crate::producer::batch::{Batch, Pending};
use crate::producer::partition::{Identity, Outcome, Settled};
use crate::producer::plan::{Settings, Step};

pub(super) const NODE: i32 = 1;
const TOPIC: &str = "topic";
const LARGE_BYTES: usize = 70_000;

pub(super) fn settings() -> Settings {
    Settings {
        batch_size: 100_000,
        linger: Duration::ZERO,
        max_in_flight: 5,
        delivery_timeout: Duration::from_secs(120),
        request_timeout: Duration::from_secs(30),
        compression: Compression::None,
        idempotent: true,
        keeps_partitions: false,
        backoff: Backoff { first: Duration::from_millis(100), max: Duration::from_secs(1) },
        random: || 0.5,
    }
}

/// What a broker does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Appends what its sequence numbers allow.
    None,
    /// Refuses every batch with this.
    Refused(ErrorCode),
    /// Refuses batches of several records as too large.
    TooLarge,
    /// Appends, and answers this all the same.
    AppendedBut(ErrorCode),
}

type Fate = oneshot::Receiver<Result<(i32, i64), ProduceError>>;

pub(super) struct Model {
    pub(super) accumulator: Accumulator,
    pub(super) cluster: Cluster,
    pub(super) now: Instant,
    requests: VecDeque<Vec<(Slot, Batch)>>,
    partitions: Vec<ModelPartition>,
    sent: Vec<Vec<u64>>,
    next_value: Vec<u64>,
    next_id: i64,
    fates: Vec<(i32, u64, Option<Fate>, Option<ProduceError>)>,
    group: TaskTracker,
}

#[derive(Default)]
struct ModelPartition {
    log: Vec<u64>,
    /// Last batches of each producer: first sequence, last sequence, base offset.
    producers: HashMap<i64, VecDeque<(i32, i32, i64)>>,
    identities: HashSet<i64>,
}

impl Model {
    pub(super) fn new(partitions: i32) -> Self {
        Self::with_settings(partitions, settings())
    }

    pub(super) fn with_settings(partitions: i32, settings: Settings) -> Self {
        let mut accumulator = Accumulator::new(settings);
        accumulator.set_identity(Identity { id: 1, epoch: 0 });
        Self {
            accumulator,
            cluster: cluster(partitions),
            now: Instant::now(),
            requests: VecDeque::new(),
            partitions: (0..partitions).map(|_| ModelPartition::default()).collect(),
            sent: vec![Vec::new(); partitions as usize],
            next_value: vec![0; partitions as usize],
            next_id: 2,
            fates: Vec::new(),
            group: TaskTracker::new(),
        }
    }

    pub(super) fn send(&mut self, partition: i32) {
        self.send_bytes(partition, 8);
    }

    /// A record that makes a full batch by itself.
    pub(super) fn send_large(&mut self, partition: i32) {
        self.send_bytes(partition, LARGE_BYTES);
    }

    fn send_bytes(&mut self, partition: i32, size: usize) {
        let value = self.next_value[partition as usize];
        self.next_value[partition as usize] += 1;
        let mut content = value.to_be_bytes().to_vec();
        content.resize(size, 0);
        let record = Record { value: Some(Bytes::from(content)), ..Record::default() };
        let (delivery, fate) = oneshot::channel();
        let pending = Pending {
            bytes: BatchBuilder::record_bytes_max(&record),
            record,
            partition: Some(partition),
            transaction: 0,
            delivery: Some(delivery),
            memory: None,
            queued: self.now,
            deadline: self.now + Duration::from_secs(120),
            unsettled: self.group.token(),
        };
        match self.accumulator.append(TOPIC, pending, &self.cluster) {
            Ok(_) => {
                self.sent[partition as usize].push(value);
                self.fates.push((partition, value, Some(fate), None));
            }
            Err(refused) => self.fates.push((partition, value, None, Some(refused.1))),
        }
    }

    /// Sends all that the accumulator wants to send now, and gives it producer ids.
    pub(super) fn dispatch(&mut self) {
        loop {
            match self.accumulator.next(self.now, &self.cluster, |_| true) {
                Step::Send(outgoing) => {
                    let mut batches = outgoing.batches;
                    for (_, batch) in &mut batches {
                        batch.encode().unwrap();
                    }
                    self.requests.push_back(batches);
                }
                Step::Wait(wants) if wants.identity => {
                    self.accumulator.set_identity(Identity { id: self.next_id, epoch: 0 });
                    self.next_id += 1;
                }
                Step::Wait(_) => return,
            }
        }
    }

    /// Records of each request in flight.
    pub(super) fn in_flight(&self) -> Vec<i32> {
        self.requests.iter().map(|request| request.iter().map(|(_, batch)| batch.count()).sum()).collect()
    }

    /// The broker takes the request that is due, if there is one, and answers it.
    pub(super) fn answer(&mut self, fault: Fault) {
        let Some(request) = self.requests.pop_front() else { return };
        let mut outcomes = Vec::new();
        for (slot, mut batch) in request {
            let (code, base_offset) = match fault {
                // What fitted once fits again.
                Fault::TooLarge if batch.count() == 1 || batch.may_be_written => self.append(slot, &mut batch),
                Fault::TooLarge => (ErrorCode::MessageTooLarge, -1),
                Fault::Refused(code) => (code, -1),
                Fault::None => self.append(slot, &mut batch),
                Fault::AppendedBut(code) => match self.append(slot, &mut batch) {
                    (ErrorCode::None, offset) if code == ErrorCode::DuplicateSequenceNumber => (code, offset),
                    (ErrorCode::None, _) => (code, -1),
                    refused => refused,
                },
            };
            outcomes.push((slot, batch, Outcome::Answered { code, message: None, base_offset }));
        }
        self.complete(outcomes);
    }

    /// The connection breaks after the broker has taken `taken` of the requests in flight.
    pub(super) fn lose_connection(&mut self, taken: usize) {
        let mut requests = std::mem::take(&mut self.requests);
        for request in requests.iter_mut().take(taken) {
            for (slot, batch) in request {
                self.append(*slot, batch);
            }
        }
        let error = ConnectionError::ClosedByBroker { address: "model:9092".to_owned() };
        for request in requests {
            let lost = |(slot, batch)| (slot, batch, Outcome::Lost(error.clone()));
            self.complete(request.into_iter().map(lost).collect());
        }
    }

    /// The request that is due fails with an error of its connection.
    pub(super) fn fail_front(&mut self, error: &ConnectionError) {
        let Some(request) = self.requests.pop_front() else { return };
        self.complete(request.into_iter().map(|(slot, batch)| (slot, batch, Outcome::Lost(error.clone()))).collect());
    }

    fn complete(&mut self, outcomes: Vec<(Slot, Batch, Outcome)>) {
        for settled in self.accumulator.complete(NODE, outcomes, self.now) {
            settle(settled);
        }
    }

    pub(super) fn expire(&mut self) {
        self.accumulator.expire(self.now).batches.into_iter().for_each(settle);
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Answers well and lets time pass until nothing is left.
    pub(super) fn settle_everything(&mut self) {
        for _ in 0..1_000 {
            self.dispatch();
            if self.requests.is_empty() && self.fates.iter_mut().all(is_settled) {
                return;
            }
            self.answer(Fault::None);
            if self.requests.is_empty() {
                self.pass(Duration::from_millis(300));
            }
        }
        panic!("records are left over");
    }

    /// Takes a batch as a broker does (KIP-98, KIP-360).
    fn append(&mut self, slot: Slot, batch: &mut Batch) -> (ErrorCode, i64) {
        let (_, partition) = self.accumulator.name(slot);
        let (header, records) = read_batch(&batch.encode().unwrap()).unwrap();
        self.partitions[partition as usize].append(&header, &records)
    }

    pub(super) fn log(&self, partition: usize) -> &[u64] {
        &self.partitions[partition].log
    }

    pub(super) fn identities_used(&self, partition: usize) -> usize {
        self.partitions[partition].identities.len()
    }

    /// Errors of the records that failed so far, in the order of sending.
    pub(super) fn failures(&mut self) -> Vec<ProduceError> {
        for fate in &mut self.fates {
            is_settled(fate);
        }
        self.fates.iter().filter_map(|(.., error)| error.clone()).collect()
    }

    /// Every record that did not fail is in the log once, in the order of sending.
    pub(super) fn assert_log_is_what_was_sent(&mut self) {
        let failed: HashSet<(i32, u64)> =
            self.fates.iter().filter(|fate| fate.3.is_some()).map(|fate| (fate.0, fate.1)).collect();
        for (partition, sent) in (0..).zip(&self.sent) {
            let expected: Vec<u64> =
                sent.iter().copied().filter(|value| !failed.contains(&(partition, *value))).collect();
            assert_eq!(self.partitions[partition as usize].log, expected, "partition {partition}");
        }
    }
}

impl ModelPartition {
    fn append(&mut self, header: &BatchHeader, records: &[Record]) -> (ErrorCode, i64) {
        let recent = self.producers.entry(header.producer_id).or_default();
        let (first, last) = (header.base_sequence, header.last_sequence());
        if let Some((.., offset)) = recent.iter().find(|known| (known.0, known.1) == (first, last)) {
            return (ErrorCode::None, *offset);
        }
        if recent.back().is_some_and(|known| known.1 + 1 != first) {
            return (ErrorCode::OutOfOrderSequenceNumber, -1);
        }
        let offset = self.log.len() as i64;
        recent.push_back((first, last, offset));
        if recent.len() > 5 {
            recent.pop_front();
        }
        self.identities.insert(header.producer_id);
        let number = |record: &Record| u64::from_be_bytes(*record.value.as_ref().unwrap().first_chunk().unwrap());
        self.log.extend(records.iter().map(number));
        (ErrorCode::None, offset)
    }
}

fn is_settled(fate: &mut (i32, u64, Option<Fate>, Option<ProduceError>)) -> bool {
    if let Some(receiver) = &mut fate.2 {
        match receiver.try_recv() {
            Ok(told) => {
                fate.3 = told.err();
                fate.2 = None;
            }
            Err(oneshot::error::TryRecvError::Empty) => return false,
            Err(oneshot::error::TryRecvError::Closed) => panic!("a record was dropped without a fate"),
        }
    }
    true
}

fn settle(settled: Settled) {
    match settled {
        Settled::Done(batch, fate) => batch.settle(fate),
        Settled::Fatal(batch, error) => batch.settle(Err(error)),
    }
}

fn cluster(partitions: i32) -> Cluster {
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: NODE,
        leader_epoch: 0,
        ..MetadataResponsePartition::default()
    };
    let topic = MetadataResponseTopic {
        name: Some(TOPIC.to_owned()),
        partitions: (0..partitions).map(partition).collect(),
        ..MetadataResponseTopic::default()
    };
    let broker = MetadataResponseBroker { node_id: NODE, host: "model".to_owned(), port: 9092, rack: None };
    let response = MetadataResponse { brokers: vec![broker], topics: vec![topic], ..MetadataResponse::default() };
    Cluster::default().merge(response, |_| true)
}
