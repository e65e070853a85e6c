//! One transactional id: its producer, its state, and who waits for it.
//!
//! Its changes are those of KIP-98, KIP-360 and KIP-890; which of them an event brings about is the shard's to say.
//! Invariants: an epoch is given out once; the epoch of the markers that fence a producer is above the producer's; in
//! `PrepareCommit` and `PrepareAbort` nothing but `complete` changes it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::action::Answer;
use super::event::{Init, ProducerIdentity, Protocol, TopicPartition};
use super::record_codec::{NONE, TransactionValue};
use super::state::TransactionState;
use crate::hosting::WaiterId;
use crate::hosting::moment::{Moment, MonotonicMs};

/// The highest epoch a producer is given. Above it is one more, for the markers that fence it.
const EPOCH_MAX: i16 = i16::MAX - 1;
/// Versions of transactions in records.
const CLASSIC: i16 = 0;
const EPOCH_BUMP: i16 = 2;

/// A transactional id.
#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) producer_id: i64,
    previous_producer_id: i64,
    next_producer_id: i64,
    pub(super) epoch: i16,
    /// The epoch before the last bump that its producer asked for (KIP-360): a retry of that is recognised by it.
    pub(super) last_epoch: i16,
    pub(super) timeout_ms: i32,
    pub(super) state: TransactionState,
    /// Each with the number of the record that took it in.
    pub(super) partitions: BTreeMap<TopicPartition, u64>,
    started_ms: i64,
    pub(super) updated_ms: i64,
    version: i16,
    /// The attempt under way to write its markers.
    pub(super) attempt: Option<u64>,
    /// Numbers of its last record, and of its last durable one.
    pub(super) last_number: u64,
    pub(super) durable_number: u64,
    /// Answers that are true once a record is durable.
    pub(super) held: Vec<(u64, WaiterId, Answer)>,
    /// Who waits for the transaction to end.
    pub(super) waiting: Vec<Waiting>,
    /// When the open transaction is to be aborted, or its missing markers written.
    pub(super) due_at: Option<MonotonicMs>,
    /// Where it is in the shard's schedule.
    pub(super) scheduled_at: Option<MonotonicMs>,
}

/// A request that waits for a transaction to end.
#[derive(Debug)]
pub(super) enum Waiting {
    /// The one that ended it, or a retry.
    End(WaiterId),
    /// A producer that is to take over.
    Init(Init),
}

impl Transaction {
    /// An id nobody has used.
    pub(super) fn new(producer_id: i64, timeout_ms: i32) -> Self {
        Self::from_value(TransactionValue {
            producer_id,
            previous_producer_id: NONE.into(),
            next_producer_id: NONE.into(),
            epoch: NONE.into(),
            timeout_ms,
            state: TransactionState::Empty,
            partitions: Vec::new(),
            started_ms: NONE.into(),
            updated_ms: NONE.into(),
            version: CLASSIC,
        })
    }

    /// An id as it was written down, all of it durable.
    pub(super) fn from_value(value: TransactionValue) -> Self {
        Self {
            producer_id: value.producer_id,
            previous_producer_id: value.previous_producer_id,
            next_producer_id: value.next_producer_id,
            epoch: value.epoch,
            last_epoch: NONE.into(),
            timeout_ms: value.timeout_ms,
            state: value.state,
            partitions: value.partitions.into_iter().map(|partition| (partition, 0)).collect(),
            started_ms: value.started_ms,
            updated_ms: value.updated_ms,
            version: value.version,
            attempt: None,
            last_number: 0,
            durable_number: 0,
            held: Vec::new(),
            waiting: Vec::new(),
            due_at: None,
            scheduled_at: None,
        }
    }

    /// As it is written down.
    pub(super) fn value(&self) -> TransactionValue {
        TransactionValue {
            producer_id: self.producer_id,
            previous_producer_id: self.previous_producer_id,
            next_producer_id: self.next_producer_id,
            epoch: self.epoch,
            timeout_ms: self.timeout_ms,
            state: self.state,
            partitions: self.partitions.keys().cloned().collect(),
            started_ms: self.started_ms,
            updated_ms: self.updated_ms,
            version: self.version,
        }
    }

    /// What its producer is to go on with.
    pub(super) fn producer(&self) -> ProducerIdentity {
        ProducerIdentity { id: self.producer_id, epoch: self.epoch }
    }

    /// Whether the client's transactions have an epoch each.
    pub(super) fn bumps_epochs(&self) -> bool {
        self.version >= EPOCH_BUMP
    }

    /// Whether its producer id has no epoch left for another producer.
    pub(super) fn is_exhausted(&self) -> bool {
        self.epoch >= EPOCH_MAX
    }

    /// Whether it can be handed over under another producer id only. Who recovers with an epoch from before gets the one
    /// there is, unless that is the one for markers.
    pub(super) fn needs_producer_id(&self, current: Option<ProducerIdentity>) -> bool {
        let is_bumped = current.is_none_or(|current| current.epoch == self.epoch);
        self.is_exhausted() && (is_bumped || self.epoch > EPOCH_MAX)
    }

    /// Whether a producer that comes with an id and epoch to recover may do so (KIP-360). Its id may be the one before,
    /// if the answer that brought the new one was lost; nobody else has taken over then.
    pub(super) fn is_recoverable_by(&self, producer: ProducerIdentity) -> bool {
        let is_last = producer.id == self.producer_id && (producer.epoch == self.epoch || self.is_retry(producer));
        let is_before = producer.id == self.previous_producer_id && producer.epoch >= EPOCH_MAX;
        let is_known = is_last || (is_before && self.is_retry(producer));
        // What is open belongs to the epoch there is: to one from before, that is somebody else.
        let is_holder = self.state != TransactionState::Ongoing || producer == self.producer();
        self.epoch < 0 || (is_known && is_holder)
    }

    fn is_retry(&self, producer: ProducerIdentity) -> bool {
        self.last_epoch >= 0 && producer.epoch == self.last_epoch
    }

    /// Whether an EndTxn's answer was lost, in which the producer got another epoch, or id (KIP-890).
    pub(super) fn was_ended_by(&self, producer: ProducerIdentity) -> bool {
        let is_bumped = producer.id == self.producer_id && i32::from(self.epoch) == i32::from(producer.epoch) + 1;
        let is_replaced = producer.id == self.previous_producer_id && producer.epoch == EPOCH_MAX && self.epoch == 0;
        self.bumps_epochs() && (is_bumped || is_replaced)
    }

    /// Gives the id to a producer, with the next epoch, or, if there is none left, with `fresh_producer_id`. A retry of
    /// a bump gets what the first one got.
    pub(super) fn hand_over(&mut self, init: &Init, fresh_producer_id: Option<i64>, now: Moment) {
        let last_epoch = init.current.map_or(NONE.into(), |current| current.epoch);
        if let Some(fresh_producer_id) = fresh_producer_id {
            self.last_epoch = last_epoch;
            self.previous_producer_id = self.producer_id;
            (self.producer_id, self.epoch) = (fresh_producer_id, 0);
        } else if !init.current.is_some_and(|current| current.epoch != self.epoch && self.is_retry(current)) {
            self.last_epoch = last_epoch;
            self.epoch += 1;
        }
        self.timeout_ms = init.timeout_ms;
        self.state = TransactionState::Empty;
        self.partitions.clear();
        self.started_ms = NONE.into();
        self.updated_ms = now.wall_ms;
    }

    /// Takes partitions in; the first ones open a transaction.
    pub(super) fn add(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        protocol: Protocol,
        number: u64,
        now: Moment,
    ) {
        if self.state != TransactionState::Ongoing {
            self.state = TransactionState::Ongoing;
            self.started_ms = now.wall_ms;
            self.due_at = Some(self.deadline(now));
        }
        self.version = version_of(protocol);
        for partition in partitions {
            self.partitions.entry(partition).or_insert(number);
        }
        self.updated_ms = now.wall_ms;
    }

    /// Decides how the transaction ends, as its producer wishes. `fresh_producer_id` is what the producer goes on with
    /// when its epochs are used up.
    pub(super) fn decide(&mut self, commit: bool, protocol: Protocol, fresh_producer_id: Option<i64>, now: Moment) {
        self.version = version_of(protocol);
        if self.bumps_epochs() {
            self.last_epoch = self.epoch;
            self.epoch = self.epoch.saturating_add(1);
            self.next_producer_id = fresh_producer_id.unwrap_or(NONE.into());
        }
        if self.state != TransactionState::Ongoing {
            // An abort of nothing, which has no beginning.
            self.started_ms = now.wall_ms;
        }
        self.prepare(commit, now);
    }

    /// Decides to abort the open transaction, against its producer, whose epoch is over with that. Unless another takes
    /// over, it may recover, and has the markers' epoch then (KIP-588).
    pub(super) fn fence(&mut self, now: Moment) {
        self.last_epoch = self.epoch;
        self.epoch = self.epoch.saturating_add(1);
        self.prepare(false, now);
    }

    fn prepare(&mut self, commit: bool, now: Moment) {
        self.state = if commit { TransactionState::PrepareCommit } else { TransactionState::PrepareAbort };
        self.updated_ms = now.wall_ms;
        self.due_at = None;
    }

    /// All markers are written.
    pub(super) fn complete(&mut self, now: Moment) {
        let is_commit = self.state == TransactionState::PrepareCommit;
        self.state = if is_commit { TransactionState::CompleteCommit } else { TransactionState::CompleteAbort };
        if self.next_producer_id >= 0 {
            self.previous_producer_id = self.producer_id;
            (self.producer_id, self.epoch) = (self.next_producer_id, 0);
            self.next_producer_id = NONE.into();
        }
        self.partitions.clear();
        self.updated_ms = now.wall_ms;
        self.due_at = None;
    }

    /// When the open transaction is to be aborted. A clock that was set back does not make it longer than its timeout.
    pub(super) fn deadline(&self, now: Moment) -> MonotonicMs {
        let timeout_ms = i64::from(self.timeout_ms);
        let left_ms =
            self.started_ms.saturating_add(timeout_ms).saturating_sub(now.wall_ms).clamp(0, timeout_ms.max(0));
        now.monotonic.after(Duration::from_millis(left_ms.unsigned_abs()))
    }

    /// Milliseconds since its last transaction began. An id that has begun none is as old as the Unix epoch, as in Kafka.
    pub(super) fn lasted_ms(&self, wall_ms: i64) -> i64 {
        wall_ms.saturating_sub(self.started_ms)
    }

    /// Whether all its records are durable.
    pub(super) fn is_settled(&self) -> bool {
        self.last_number == self.durable_number
    }
}

fn version_of(protocol: Protocol) -> i16 {
    match protocol {
        Protocol::Classic => CLASSIC,
        Protocol::EpochBump => EPOCH_BUMP,
    }
}
