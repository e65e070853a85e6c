//! Everything a producer holds: records by topic and partition, requests in flight by broker. Pure: the time, the
//! cluster and which brokers are connected are arguments.
//!
//! A broker without a request in flight gets all that waits for it at once. Beyond that another request is sent only
//! for batches that are full, so that what is queued while a request is in flight forms the next batch.

mod transactions;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;

use super::ProduceError;
use super::batch::{Batch, Pending};
use super::gate::Gate;
use super::partition::{Identity, Name, Outcome, PartitionQueue, Settled};
use super::plan::{Expired, Outgoing, Settings, Step, Wants};
use super::topic::TopicQueue;
use crate::backoff::Backoff;
use crate::metadata::Cluster;
use crate::transaction::AbortCause;

/// A batch of this size is worth a request of its own while others are in flight: sending it takes less than waiting.
const FULL_BYTES: usize = 64 << 10;
/// Bytes of batches in one request, at most, when there is more than one batch.
const REQUEST_BYTES_MAX: usize = 8 << 20;
/// While the coordinator completes the transaction before.
pub(crate) const CONCURRENT_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(2), max: Duration::from_millis(20) };

/// A partition's place in [`Accumulator`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(usize);

#[derive(Debug)]
struct Partition {
    topic: Arc<str>,
    index: i32,
    queue: PartitionQueue,
    /// Whether it stands in [`Accumulator::active`].
    active: bool,
    /// The last transaction it was added to.
    enlisted: u64,
}

/// Everything a producer holds.
#[derive(Debug)]
pub(super) struct Accumulator {
    settings: Settings,
    topics: HashMap<Arc<str>, TopicQueue>,
    partitions: Vec<Partition>,
    /// Partitions with batches to send; the one served last stands last.
    active: VecDeque<usize>,
    /// Deadlines of the requests in flight, by broker, in order.
    in_flight: HashMap<i32, VecDeque<Instant>>,
    /// Records whose topic's partitions are not known yet.
    unrouted: usize,
    identity: Option<Identity>,
    gate: Gate,
    ended: Option<ProduceError>,
    flushes: usize,
}

impl Accumulator {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            topics: HashMap::new(),
            partitions: Vec::new(),
            active: VecDeque::new(),
            in_flight: HashMap::new(),
            unrouted: 0,
            identity: None,
            gate: Gate::default(),
            ended: None,
            flushes: 0,
        }
    }

    /// Queues a record; true when something may have to be sent for it.
    ///
    /// # Errors
    /// Gives the record back with the reason when the producer has ended or the partition does not exist.
    pub(super) fn append(
        &mut self,
        topic: &str,
        pending: Pending,
        cluster: &Cluster,
    ) -> Result<bool, Box<(Pending, ProduceError)>> {
        if let Some(ended) = &self.ended {
            return Err(Box::new((pending, ended.clone())));
        }
        if let Some(error) = self.gate.error_of(pending.transaction) {
            return Err(Box::new((pending, error)));
        }
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.into(), TopicQueue::default());
            self.learn_topic(topic, cluster);
        }
        let Some(queue) = self.topics.get_mut(topic) else { return Ok(false) };
        if queue.slots.is_empty() {
            queue.unrouted.push_back(pending);
            self.unrouted += 1;
            return Ok(true);
        }
        if let Some(now) = queue.changed.filter(|_| queue.would_move(&pending)) {
            let (topic, before) = (topic.to_owned(), queue.slots.len());
            let error = ProduceError::PartitionsChanged { topic, before, now };
            self.gate.fail(pending.transaction, &AbortCause::of_record(&error));
            return Err(Box::new((pending, error)));
        }
        let limit = self.settings.batch_size;
        let partitions = &self.partitions;
        let (transaction, bytes) = (pending.transaction, pending.bytes);
        let is_open = |slot: usize| {
            partitions.get(slot).is_some_and(|found| found.queue.has_open_batch(transaction, bytes, limit))
        };
        let Some(slot) = queue.route(&pending, is_open) else {
            let partition = pending.partition.unwrap_or(-1);
            let error = ProduceError::UnknownPartition { topic: topic.to_owned(), partition };
            self.gate.fail(transaction, &AbortCause::of_record(&error));
            return Err(Box::new((pending, error)));
        };
        let partition = &mut self.partitions[slot];
        let began = partition.queue.append(pending, limit, self.settings.compression);
        let fills = began || partition.queue.head_is_full(FULL_BYTES);
        self.activate(slot);
        Ok(fills)
    }

    /// Takes in a new view of the cluster; answers records that it says can never be sent.
    pub(super) fn learn(&mut self, cluster: &Cluster) -> Vec<(Pending, ProduceError)> {
        let mut refused = Vec::new();
        let names: Vec<Arc<str>> = self.topics.keys().cloned().collect();
        for name in names {
            self.learn_topic(&name, cluster);
            let Some(queue) = self.topics.get_mut(&name) else { continue };
            if queue.unrouted.is_empty() {
                continue;
            }
            let unrouted = std::mem::take(&mut queue.unrouted);
            self.unrouted -= unrouted.len();
            let error =
                cluster.topic(&name).map(|topic| topic.error).filter(|code| !code.is_ok() && !code.is_retriable());
            for pending in unrouted {
                if let Some(code) = error {
                    let error = ProduceError::Topic { topic: name.to_string(), code };
                    self.gate.fail(pending.transaction, &AbortCause::of_record(&error));
                    refused.push((pending, error));
                } else if let Err(kept) = self.append(&name, pending, cluster) {
                    refused.push(*kept);
                }
            }
        }
        refused
    }

    /// Makes places for the partitions a topic has.
    fn learn_topic(&mut self, name: &str, cluster: &Cluster) {
        let Some(known) = cluster.topic(name).filter(|topic| topic.is_usable()) else { return };
        let Some(queue) = self.topics.get_mut(name) else { return };
        let (before, now) = (queue.slots.len(), known.partitions.len());
        queue.changed = (self.settings.keeps_partitions && before > 0 && before != now).then_some(now);
        if queue.changed.is_some() {
            return;
        }
        for index in queue.slots.len()..known.partitions.len() {
            queue.slots.push(self.partitions.len());
            let (topic, index) = (known.name.clone(), index as i32);
            let queue = PartitionQueue::default();
            self.partitions.push(Partition { topic, index, queue, active: false, enlisted: 0 });
        }
    }

    /// The next request, or what has to happen before there can be one.
    pub(super) fn next(&mut self, now: Instant, cluster: &Cluster, connected: impl Fn(i32) -> bool) -> Step {
        let mut wants = Wants::default();
        let mut chosen: Option<i32> = None;
        for position in 0..self.active.len() {
            let slot = self.active[position];
            let Some(node) = self.ready(slot, now, cluster, &mut wants) else { continue };
            if !connected(node) {
                if !wants.connections.contains(&node) {
                    wants.connections.push(node);
                }
            } else if self.deserves_request(slot, node, now, &mut wants) {
                chosen = Some(node);
                break;
            }
        }
        if let Some(node) = chosen {
            return Step::Send(self.gather(node, now, cluster));
        }
        if self.unrouted > 0 {
            wants.metadata = true;
            let fronts = self.topics.values().filter_map(|topic| topic.unrouted.front());
            fronts.for_each(|pending| wants.by(pending.deadline));
        }
        self.in_flight.values().filter_map(|deadlines| deadlines.front()).for_each(|deadline| wants.by(*deadline));
        Step::Wait(wants)
    }

    /// The broker a partition's next batch can go to now; else notes in `wants` what it waits for.
    fn ready(&self, slot: usize, now: Instant, cluster: &Cluster, wants: &mut Wants) -> Option<i32> {
        let partition = &self.partitions[slot];
        let head = partition.queue.head()?;
        wants.by(head.deadline);
        if head.deadline <= now || !self.gate.admits(head.transaction) {
            return None;
        }
        if self.gate.enlists().is_some_and(|transaction| partition.enlisted < transaction) {
            wants.enlist = true;
            return None;
        }
        let limit = if self.settings.idempotent { self.settings.max_in_flight } else { 1 };
        let from = partition.queue.sendable_from(limit, now)?;
        if from > now {
            wants.by(from);
            return None;
        }
        if self.settings.idempotent && partition.queue.lacks_identity(self.identity) {
            wants.identity = true;
            return None;
        }
        let leader = cluster.leader(&partition.topic, partition.index);
        wants.metadata |= leader.is_none();
        leader.map(|(node, _)| node)
    }

    /// Whether a connected broker should get a partition's next batch now.
    fn deserves_request(&self, slot: usize, node: i32, now: Instant, wants: &mut Wants) -> bool {
        let queue = &self.partitions[slot].queue;
        let in_flight = self.in_flight.get(&node).map_or(0, VecDeque::len);
        let is_full = queue.head_is_full(FULL_BYTES);
        if in_flight >= self.settings.max_in_flight || (in_flight > 0 && !is_full) {
            return false;
        }
        let Some(head) = queue.head() else { return false };
        let lingers_until = head.queued + self.settings.linger;
        if lingers_until > now && !queue.head_is_full(self.settings.batch_size) && self.flushes == 0 {
            wants.by(lingers_until);
            return false;
        }
        true
    }

    /// Takes a batch of each partition that can go to `node` now.
    fn gather(&mut self, node: i32, now: Instant, cluster: &Cluster) -> Outgoing {
        let mut batches: Vec<(Slot, Batch)> = Vec::new();
        let mut bytes = 0;
        for _ in 0..self.active.len() {
            let Some(slot) = self.active.pop_front() else { break };
            let size = self.partitions[slot].queue.head().map_or(0, |head| head.bytes);
            let fits = batches.is_empty() || bytes + size <= REQUEST_BYTES_MAX;
            if fits && self.ready(slot, now, cluster, &mut Wants::default()) == Some(node) {
                let identity = self.identity.filter(|_| self.settings.idempotent);
                if let Some(batch) = self.partitions[slot].queue.take(identity) {
                    bytes += batch.bytes;
                    self.gate.note_sent(batch.transaction);
                    batches.push((Slot(slot), batch));
                }
            }
            if self.partitions[slot].queue.is_empty() {
                self.partitions[slot].active = false;
            } else {
                self.active.push_back(slot);
            }
        }
        let left = batches.iter().map(|(_, batch)| batch.deadline.saturating_duration_since(now)).min();
        let timeout = left.unwrap_or(Duration::MAX).min(self.settings.request_timeout);
        self.in_flight.entry(node).or_default().push_back(now + timeout);
        Outgoing { node, batches, timeout }
    }

    /// Takes in what came of a request; answers the batches whose fate is known now.
    pub(super) fn complete(&mut self, node: i32, outcomes: Vec<(Slot, Batch, Outcome)>, now: Instant) -> Vec<Settled> {
        if let Some(deadlines) = self.in_flight.get_mut(&node) {
            deadlines.pop_front();
            if deadlines.is_empty() {
                self.in_flight.remove(&node);
            }
        }
        self.complete_unsent(outcomes, now)
    }

    /// Takes in what came of batches that were taken and are in no request.
    pub(super) fn complete_unsent(&mut self, outcomes: Vec<(Slot, Batch, Outcome)>, now: Instant) -> Vec<Settled> {
        let mut settled = Vec::new();
        for (Slot(slot), batch, outcome) in outcomes {
            let partition = &mut self.partitions[slot];
            let backoff = match &outcome {
                // The transaction before is just being completed: a matter of milliseconds.
                Outcome::Answered { code: ErrorCode::ConcurrentTransactions, .. } => CONCURRENT_BACKOFF,
                _ => self.settings.backoff,
            };
            let backoff = backoff.delay(partition.queue.failures() + 1, (self.settings.random)());
            let name = Name { topic: &partition.topic, partition: partition.index };
            settled.extend(partition.queue.complete(name, batch, outcome, now, backoff));
            self.activate(slot);
        }
        let fatal = settled.iter().find_map(|settled| match settled {
            Settled::Fatal(_, error) => Some(error.clone()),
            Settled::Done(..) => None,
        });
        if let Some(error) = fatal {
            settled.extend(self.end(error).into_iter().map(|(batch, error)| Settled::Done(batch, Err(error))));
        }
        self.note_failures(&settled);
        if let Some(error) = &self.ended {
            let waiting = self.partitions.iter_mut().flat_map(|partition| partition.queue.take_all());
            settled.extend(waiting.map(|batch| Settled::Done(batch, Err(error.clone()))));
        }
        settled
    }

    /// Takes what has waited too long: batches, records without a partition, and brokers whose answer is overdue.
    pub(super) fn expire(&mut self, now: Instant) -> Expired {
        let timeout = self.settings.delivery_timeout;
        let mut expired = Expired::default();
        for slot in &self.active {
            expired.batches.extend(self.partitions[*slot].queue.expire(now, timeout));
        }
        for (name, topic) in &mut self.topics {
            while topic.unrouted.front().is_some_and(|pending| pending.deadline <= now) {
                let last = Some(format!("topic {name} is not known to the cluster"));
                let error = ProduceError::DeliveryTimeout { waited: timeout, may_be_written: false, last };
                if let Some(pending) = topic.unrouted.pop_front() {
                    self.gate.fail(pending.transaction, &AbortCause::of_record(&error));
                    expired.records.push((pending, error));
                }
                self.unrouted -= 1;
            }
        }
        self.note_failures(&expired.batches);
        let overdue = |deadlines: &VecDeque<Instant>| deadlines.front().is_some_and(|deadline| *deadline <= now);
        expired.brokers.extend(self.in_flight.iter().filter(|(_, due)| overdue(due)).map(|(node, _)| *node));
        expired
    }

    /// Ends the producer: what waits and what comes later fails with `error`.
    pub(super) fn end(&mut self, error: ProduceError) -> Vec<(Batch, ProduceError)> {
        let error = self.ended.get_or_insert(error).clone();
        let waiting = self.partitions.iter_mut().flat_map(|partition| partition.queue.take_all());
        waiting.map(|batch| (batch, error.clone())).collect()
    }

    /// Takes the records that have no partition yet, after the end.
    pub(super) fn take_unrouted(&mut self) -> Vec<Pending> {
        self.unrouted = 0;
        self.topics.values_mut().flat_map(|topic| topic.unrouted.drain(..)).collect()
    }

    /// Why the producer has ended, if it has.
    pub(super) fn ended(&self) -> Option<&ProduceError> {
        self.ended.as_ref()
    }

    /// The producer's id for partitions that need one from now on.
    pub(super) fn set_identity(&mut self, identity: Identity) {
        self.identity = Some(identity);
    }

    /// While flushes are under way nothing lingers.
    pub(super) fn begin_flush(&mut self) {
        self.flushes += 1;
    }

    /// Counterpart of [`Accumulator::begin_flush`].
    pub(super) fn end_flush(&mut self) {
        self.flushes = self.flushes.saturating_sub(1);
    }

    /// The topic and partition of a slot.
    pub(super) fn name(&self, Slot(slot): Slot) -> (Arc<str>, i32) {
        let partition = &self.partitions[slot];
        (partition.topic.clone(), partition.index)
    }

    fn activate(&mut self, slot: usize) {
        let partition = &mut self.partitions[slot];
        if !partition.active && !partition.queue.is_empty() {
            partition.active = true;
            self.active.push_back(slot);
        }
    }
}

#[cfg(test)]
mod tests;
