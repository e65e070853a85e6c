//! The batches of one partition: their order, their sequence numbers, what becomes of them after an answer. Pure.
//!
//! **Invariants.**
//! 1. Batches enter the log in the order their records were queued in. While one waits to be sent again, nothing new
//!    is sent; once nothing is in flight, those that failed go out again in order with the sequence numbers they had.
//! 2. A batch that may be in the log is never given other sequence numbers: the broker could not tell that it is the
//!    same.
//! 3. A broker that holds nothing of an identity takes any sequence number from it: were the first batch refused for
//!    want of a leader, the second would get in before it. So until one is acknowledged, one is in flight.
//! 4. A broker recognises only the last five batches of a producer. So a batch is sent only while the earliest one
//!    that is not settled would still be among the last five behind it.
//! 5. Sequence numbers are given up (the partition goes on under another producer id from 0) only where no batch that
//!    keeps its content could have been written under them. Otherwise the producer ends ([`Settled::Fatal`]).
//! 6. In a transaction they are not given up at all: a batch that fails dooms the transaction, and the one after its
//!    abort comes with another identity and begins at 0.

mod transactions;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pillion_wire::ErrorCode;
use pillion_wire::records::{BatchProducer, Compression, advance_sequence};

use super::ProduceError;
use super::batch::{Batch, Pending};
use super::verdict::{Verdict, judge};
use crate::connection::ConnectionError;

/// A broker is trusted to remember the identity for this long after an acknowledgement (Kafka's
/// `producer.id.expiration.ms` is a day).
const REMEMBERED: Duration = Duration::from_secs(600);

/// Batches of a producer that a broker recognises when they are repeated.
const RECOGNISED: usize = 5;

/// A producer id and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// What came of an attempt to produce a batch.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The broker answered.
    Answered { code: ErrorCode, message: Option<String>, base_offset: i64 },
    /// No answer will come; the batch may be in the log.
    Lost(ConnectionError),
    /// The batch could not be encoded and never was sent.
    Unbuildable(ProduceError),
}

/// A batch whose fate is known.
#[derive(Debug)]
pub(super) enum Settled {
    /// Its fate, to be told with [`Batch::settle`].
    Done(Batch, Result<(i32, i64), ProduceError>),
    /// Nothing of this producer may go on.
    Fatal(Batch, ProduceError),
}

/// A partition's name, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
}

/// The batches of one partition that are not settled.
#[derive(Debug, Default)]
pub(super) struct PartitionQueue {
    /// To be sent, in order; those that failed stand in front.
    queue: VecDeque<Batch>,
    /// Sent and not answered, in order.
    in_flight: VecDeque<InFlight>,
    /// The identity and number the next new batch gets.
    sequence: Option<(Identity, i32)>,
    /// When a batch of that identity was acknowledged last.
    acknowledged: Option<Instant>,
    /// Batches with a stamp, by order, from the earliest one that is not settled on.
    stamped: VecDeque<u64>,
    /// An identity given up, from this batch on.
    abandoned: Option<(Identity, u64)>,
    next_order: u64,
    /// A batch has failed and nothing more is sent until nothing is in flight.
    recovering: bool,
    failures: u32,
    not_before: Option<Instant>,
}

#[derive(Debug)]
struct InFlight {
    order: u64,
    identity: Option<Identity>,
    may_be_written: bool,
}

impl PartitionQueue {
    /// Queues a record; true when it began a batch.
    pub(super) fn append(&mut self, pending: Pending, limit: usize, compression: Compression) -> bool {
        self.next_order += 1;
        match self.queue.back_mut() {
            Some(last) if last.has_room(pending.transaction, pending.bytes, limit) => {
                last.push(pending);
                false
            }
            _ => {
                self.queue.push_back(Batch::new(self.next_order - 1, compression, pending));
                true
            }
        }
    }

    /// Whether the last batch takes a record of `bytes` of a transaction.
    pub(super) fn has_open_batch(&self, transaction: u64, bytes: usize, limit: usize) -> bool {
        self.queue.back().is_some_and(|last| last.has_room(transaction, bytes, limit))
    }

    /// The batch that goes out next.
    pub(super) fn head(&self) -> Option<&Batch> {
        self.queue.front()
    }

    /// Whether the next batch is worth a request although others are in flight: it grows no more, or is of `bytes`.
    pub(super) fn head_is_full(&self, bytes: usize) -> bool {
        self.queue.len() > 1 || self.head().is_some_and(|head| head.failures > 0 || head.bytes >= bytes)
    }

    /// When the next batch may go out, `None` while others must be answered first; `limit` is of those in flight.
    pub(super) fn sendable_from(&self, limit: usize, now: Instant) -> Option<Instant> {
        let head = self.head()?;
        let remembered = self.acknowledged.is_some_and(|at| now.saturating_duration_since(at) < REMEMBERED);
        // After a failure one batch finds out whether the partition takes any.
        let limit = if remembered && self.failures == 0 { limit } else { 1 };
        if (self.recovering && !self.in_flight.is_empty()) || self.in_flight.len() >= limit {
            return None;
        }
        // The broker keeps order only among batches of one identity.
        let identity = head.stamp.map(identity_of).or(self.sequence.map(|(identity, _)| identity));
        if self.in_flight.back().is_some_and(|last| last.identity != identity) {
            return None;
        }
        if self.stamped_up_to(head) > RECOGNISED {
            return None;
        }
        Some(self.not_before.unwrap_or(head.queued))
    }

    /// Stamped batches from the earliest one that is not settled up to `head`, were it sent now.
    fn stamped_up_to(&self, head: &Batch) -> usize {
        let first = self.in_flight.front().map_or(head.order, |sent| sent.order.min(head.order));
        let before = self.stamped.iter().filter(|order| (first..head.order).contains(*order)).count();
        before + 1
    }

    /// Whether the next batch needs an identity other than the producer's present one.
    pub(super) fn lacks_identity(&self, present: Option<Identity>) -> bool {
        let head_lacks = self.head().is_some_and(|head| head.stamp.is_none()) && self.sequence.is_none();
        head_lacks && present.is_none_or(|present| self.abandoned.is_some_and(|(abandoned, _)| abandoned == present))
    }

    /// Takes the next batch to send it; with an identity it is stamped, unless it keeps an earlier stamp.
    pub(super) fn take(&mut self, identity: Option<Identity>) -> Option<Batch> {
        let mut batch = self.queue.pop_front()?;
        if let (None, Some(identity)) = (batch.stamp, identity) {
            let transactional = batch.transaction > 0;
            if transactional {
                self.enter(identity);
            }
            let (identity, next) = self.sequence.unwrap_or((identity, 0));
            let Identity { id, epoch } = identity;
            batch.stamp = Some(BatchProducer { id, epoch, base_sequence: next, transactional });
            self.sequence = Some((identity, advance_sequence(next, batch.count())));
            self.stamped.push_back(batch.order);
        }
        let identity = batch.stamp.map(identity_of);
        self.in_flight.push_back(InFlight { order: batch.order, identity, may_be_written: batch.may_be_written });
        Some(batch)
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Failures since the last success.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Takes everything that waits.
    pub(super) fn take_all(&mut self) -> Vec<Batch> {
        self.queue.drain(..).collect()
    }

    /// Takes in the outcome of an attempt; `backoff` is how long to wait after a failure.
    pub(super) fn complete(
        &mut self,
        name: Name<'_>,
        mut batch: Batch,
        outcome: Outcome,
        now: Instant,
        backoff: Duration,
    ) -> Option<Settled> {
        self.in_flight.retain(|sent| sent.order != batch.order);
        let settled = match outcome {
            Outcome::Lost(error) if error.is_retriable() || matches!(error, ConnectionError::Closed { .. }) => {
                batch.last_failure = Some(error.to_string());
                self.retry(batch, true, now + backoff);
                None
            }
            Outcome::Lost(error) => Some(Settled::Done(batch, Err(error.into()))),
            Outcome::Unbuildable(error) => {
                self.abandon_from(&batch);
                Some(Settled::Done(batch, Err(error)))
            }
            Outcome::Answered { code, message, base_offset } => {
                batch.last_failure = Some(code.to_string());
                if judge(code) == Verdict::Written
                    && self.sequence.map(|(identity, _)| identity) == batch.stamp.map(identity_of)
                {
                    self.acknowledged = Some(now);
                }
                self.answered(name, batch, (code, message, base_offset), now + backoff)
            }
        };
        if self.in_flight.is_empty() {
            self.recovering = false;
        }
        let earliest = self.in_flight.iter().map(|sent| sent.order).chain(self.head().map(|head| head.order)).min();
        while self.stamped.front().is_some_and(|order| earliest.is_none_or(|earliest| *order < earliest)) {
            self.stamped.pop_front();
        }
        settled
    }

    fn answered(
        &mut self,
        name: Name<'_>,
        batch: Batch,
        (code, message, base_offset): (ErrorCode, Option<String>, i64),
        not_before: Instant,
    ) -> Option<Settled> {
        match judge(code) {
            Verdict::Written => {
                (self.failures, self.not_before) = (0, None);
                Some(Settled::Done(batch, Ok((name.partition, base_offset))))
            }
            Verdict::Retry { may_be_written } => {
                self.retry(batch, may_be_written, not_before);
                None
            }
            Verdict::SequenceBroken if batch.stamp.is_some() => self.sequence_broken(name, batch, code, not_before),
            Verdict::TooLarge if batch.count() > 1 => self.split(batch),
            Verdict::TooLarge => {
                if !batch.may_be_written {
                    self.abandon_from(&batch);
                }
                let bytes = batch.bytes;
                Some(Settled::Done(batch, Err(ProduceError::RecordTooLarge { bytes, limit: bytes })))
            }
            verdict => {
                if verdict != (Verdict::Refused { may_be_written: true }) && !batch.may_be_written {
                    self.abandon_from(&batch);
                }
                let (topic, partition) = (name.topic.to_owned(), name.partition);
                Some(Settled::Done(batch, Err(ProduceError::Broker { topic, partition, code, message })))
            }
        }
    }

    /// Puts a batch back in its place.
    fn retry(&mut self, mut batch: Batch, may_be_written: bool, not_before: Instant) {
        batch.failures += 1;
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(not_before);
        self.recovering = true;
        if self.is_abandoned(&batch) {
            // A batch before it was refused for good, so under its old numbers it can never have been written.
            batch.stamp = None;
        } else {
            batch.may_be_written |= may_be_written;
        }
        let place = self.queue.partition_point(|waiting| waiting.order < batch.order);
        self.queue.insert(place, batch);
    }

    fn sequence_broken(
        &mut self,
        name: Name<'_>,
        batch: Batch,
        code: ErrorCode,
        not_before: Instant,
    ) -> Option<Settled> {
        let identity = batch.stamp.map(identity_of);
        let earlier_waits =
            self.queue.iter().any(|waiting| waiting.order < batch.order && waiting.stamp.map(identity_of) == identity);
        let earlier_in_flight = self.in_flight.iter().any(|sent| sent.order < batch.order && sent.identity == identity);
        if earlier_waits || earlier_in_flight || self.is_abandoned(&batch) {
            // Only the consequence of an earlier batch's failure.
            self.retry(batch, false, not_before);
            return None;
        }
        if batch.transaction > 0 {
            // The transaction is aborted and the next one begins a new sequence: nothing can be lost or repeated.
            let (topic, partition) = (name.topic.to_owned(), name.partition);
            return Some(Settled::Done(batch, Err(ProduceError::Broker { topic, partition, code, message: None })));
        }
        let unclear = batch.may_be_written
            || self.queue.iter().any(|waiting| waiting.may_be_written && waiting.stamp.map(identity_of) == identity)
            || self.in_flight.iter().any(|sent| sent.may_be_written && sent.identity == identity);
        if unclear {
            let (topic, partition) = (name.topic.to_owned(), name.partition);
            return Some(Settled::Fatal(batch, ProduceError::Fatal { topic, partition, code }));
        }
        self.abandon_from(&batch);
        self.retry(batch, false, not_before);
        None
    }

    fn split(&mut self, batch: Batch) -> Option<Settled> {
        self.recovering = true;
        match batch.split() {
            Ok((mut first, mut second)) => {
                first.failures += 1;
                second.failures += 1;
                if self.is_abandoned(&first) {
                    (first.stamp, second.stamp) = (None, None);
                } else if second.stamp.is_some() {
                    let behind = self.stamped.partition_point(|order| *order < second.order);
                    self.stamped.insert(behind, second.order);
                }
                let place = self.queue.partition_point(|waiting| waiting.order < first.order);
                self.queue.insert(place, second);
                self.queue.insert(place, first);
                None
            }
            // What this process encoded it can read; were it otherwise the batch would stay as it is.
            Err(kept) => {
                let (batch, error) = *kept;
                self.abandon_from(&batch);
                Some(Settled::Done(batch, Err(ProduceError::Records(error.into()))))
            }
        }
    }

    /// Gives up the identity of `batch` for it and all behind it: its numbers will never be filled, so none behind it
    /// can have been written under that identity.
    fn abandon_from(&mut self, batch: &Batch) {
        let Some(identity) = batch.stamp.map(identity_of) else { return };
        if self.is_abandoned(batch) {
            return;
        }
        self.abandoned = Some((identity, batch.order));
        self.stamped.retain(|order| *order < batch.order);
        if self.sequence.is_some_and(|(present, _)| present == identity) {
            self.sequence = None;
            self.acknowledged = None;
        }
        for waiting in &mut self.queue {
            if waiting.order >= batch.order && waiting.stamp.map(identity_of) == Some(identity) {
                waiting.stamp = None;
                waiting.may_be_written = false;
            }
        }
        self.recovering = true;
    }

    fn is_abandoned(&self, batch: &Batch) -> bool {
        self.abandoned
            .is_some_and(|(identity, from)| batch.order >= from && batch.stamp.map(identity_of) == Some(identity))
    }

    /// Takes the batches whose time is over.
    pub(super) fn expire(&mut self, now: Instant, timeout: Duration) -> Vec<Settled> {
        let mut expired = Vec::new();
        while self.head().is_some_and(|head| head.deadline <= now) {
            let Some(batch) = self.queue.pop_front() else { break };
            if !batch.may_be_written {
                self.abandon_from(&batch);
            }
            let error = ProduceError::DeliveryTimeout {
                waited: timeout,
                may_be_written: batch.may_be_written,
                last: batch.last_failure.clone(),
            };
            expired.push(Settled::Done(batch, Err(error)));
        }
        expired
    }
}

fn identity_of(stamp: BatchProducer) -> Identity {
    Identity { id: stamp.id, epoch: stamp.epoch }
}
