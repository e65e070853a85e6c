//! A shard with a clock that stands still until told, a log as quick or as slow as a test wants, and markers that are
//! written when a test says so.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Effect, Markers, Persist};
use super::super::event::{AddPartitions, End, Init, MarkersWritten, ProducerIdentity, Protocol, TopicPartition};
use super::super::limits::TransactionLimits;
use super::super::record_codec::{TransactionRecord, TransactionValue};
use super::super::shard::TransactionShard;
use super::super::state::TransactionState;
use super::values::{orders, producer_of};
use crate::hosting::WaiterId;
use crate::hosting::moment::{Moment, MonotonicMs};

pub(super) const ID: &str = "payments";
pub(super) const TIMEOUT_MS: i32 = 60_000;
/// The first id given out; the next are the ones above.
pub(super) const FIRST_PRODUCER_ID: i64 = 1_000;
pub(super) const WALL_START_MS: i64 = 1_700_000_000_000;

/// A shard and what surrounds it. Answers are kept until asked for; a waiter answered twice fails the test.
pub(super) struct Harness {
    pub(super) shard: TransactionShard,
    limits: Arc<TransactionLimits>,
    pub(super) now: Moment,
    /// Whether records are durable as soon as they are written.
    pub(super) is_log_prompt: bool,
    /// Whether markers are written as soon as they are asked for.
    pub(super) are_markers_prompt: bool,
    /// Records whose durability has not been reported.
    pub(super) in_flight: VecDeque<Persist>,
    /// All records that are durable, in order.
    pub(super) log: Vec<TransactionRecord>,
    /// Markers asked for and not reported, oldest first.
    pub(super) markers: VecDeque<Markers>,
    /// All markers asked for.
    pub(super) all_markers: Vec<Markers>,
    next_producer_id: i64,
    answers: HashMap<WaiterId, Answer>,
    waiters: u64,
}

impl Harness {
    pub(super) fn new() -> Self {
        let limits = Arc::new(TransactionLimits::default());
        Self {
            shard: TransactionShard::new(Arc::clone(&limits)),
            limits,
            now: Moment { monotonic: MonotonicMs(1_000), wall_ms: WALL_START_MS },
            is_log_prompt: true,
            are_markers_prompt: true,
            in_flight: VecDeque::new(),
            log: Vec::new(),
            markers: VecDeque::new(),
            all_markers: Vec::new(),
            next_producer_id: FIRST_PRODUCER_ID,
            answers: HashMap::new(),
            waiters: 0,
        }
    }

    /// One that finds these records, as another broker may have left them.
    pub(super) fn reading(values: impl IntoIterator<Item = TransactionValue>) -> Self {
        let mut harness = Self::new();
        let record = |value| TransactionRecord { transactional_id: Arc::from(ID), value: Some(value) };
        harness.log = values.into_iter().map(record).collect();
        harness.restart();
        harness
    }

    pub(super) fn waiter(&mut self) -> WaiterId {
        self.waiters += 1;
        WaiterId(self.waiters)
    }

    pub(super) fn fresh_producer_id(&mut self) -> i64 {
        self.next_producer_id += 1;
        self.next_producer_id - 1
    }

    /// The answer to a waiter, if it has come.
    pub(super) fn answer(&mut self, waiter: WaiterId) -> Option<Answer> {
        self.answers.remove(&waiter)
    }

    /// The answers that have come, by waiter.
    pub(super) fn take_answers(&mut self) -> HashMap<WaiterId, Answer> {
        std::mem::take(&mut self.answers)
    }

    pub(super) fn settle(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Answer(waiter, answer) => {
                    assert!(self.answers.insert(waiter, answer).is_none(), "{waiter:?} is answered twice");
                }
                Action::Persist(persist) => self.in_flight.push_back(persist),
                Action::Effect(Effect::WriteMarkers(markers)) => {
                    self.all_markers.push(markers.clone());
                    self.markers.push_back(markers);
                }
            }
        }
        while self.is_log_prompt && !self.in_flight.is_empty() {
            self.flush_one();
        }
        while self.are_markers_prompt && !self.markers.is_empty() {
            self.write_markers();
        }
    }

    /// The oldest append becomes durable.
    pub(super) fn flush_one(&mut self) {
        let Some(persist) = self.in_flight.pop_front() else { return };
        self.log.push(persist.record.clone());
        let mut actions = Vec::new();
        self.shard.persisted(persist, &mut actions);
        self.settle(actions);
    }

    /// Everything written becomes durable.
    pub(super) fn flush(&mut self) {
        while !self.in_flight.is_empty() {
            self.flush_one();
        }
    }

    /// Nothing that is under way becomes durable: the partition has failed.
    pub(super) fn fail_log(&mut self) {
        let mut actions = Vec::new();
        for persist in std::mem::take(&mut self.in_flight) {
            self.shard.persist_failed(&persist, ErrorCode::NotCoordinator, &mut actions);
        }
        self.shard.unload(ErrorCode::NotCoordinator, &mut actions);
        self.settle(actions);
    }

    /// The oldest markers asked for are durable.
    pub(super) fn write_markers(&mut self) {
        self.report_markers(Vec::new());
    }

    /// The oldest markers asked for are durable, but for these partitions.
    pub(super) fn report_markers(&mut self, missing: Vec<TopicPartition>) {
        let Some(markers) = self.markers.pop_front() else { return };
        self.tell_of(&markers, missing);
    }

    /// Word of an attempt to write markers.
    pub(super) fn tell_of(&mut self, markers: &Markers, missing: Vec<TopicPartition>) {
        let (transactional_id, attempt) = (Arc::clone(&markers.transactional_id), markers.attempt);
        let mut actions = Vec::new();
        self.shard.markers_written(MarkersWritten { transactional_id, attempt, missing }, self.now, &mut actions);
        self.settle(actions);
    }

    /// Time passes, and whatever becomes due on the way is done when it is due.
    pub(super) fn pass(&mut self, wait: Duration) {
        let end = self.now.monotonic.after(wait);
        while let Some(deadline) = self.shard.next_deadline().filter(|deadline| *deadline <= end) {
            self.advance_to(deadline.max(self.now.monotonic));
            let mut actions = Vec::new();
            self.shard.tick(self.now, &mut actions);
            self.settle(actions);
        }
        self.advance_to(end);
    }

    pub(super) fn advance_to(&mut self, monotonic: MonotonicMs) {
        let passed = monotonic.0 - self.now.monotonic.0;
        self.now = Moment { monotonic, wall_ms: self.now.wall_ms + i64::try_from(passed).unwrap() };
    }

    /// The process dies and another one reads what was durable.
    pub(super) fn restart(&mut self) {
        self.in_flight.clear();
        self.markers.clear();
        self.shard = TransactionShard::new(Arc::clone(&self.limits));
        for record in self.log.clone() {
            self.shard.replay(record);
        }
        let mut actions = Vec::new();
        self.shard.loaded(self.now, &mut actions);
        self.settle(actions);
    }

    pub(super) fn expire(&mut self) {
        let mut actions = Vec::new();
        self.shard.expire(self.now, &mut actions);
        self.settle(actions);
    }

    /// How the id stands, in memory.
    pub(super) fn value(&self) -> TransactionValue {
        self.shard.describe(ID).expect("the id is known")
    }

    pub(super) fn state(&self) -> TransactionState {
        self.value().state
    }

    /// InitProducerId without the handler: a producer id is not brought.
    pub(super) fn init_once(&mut self, init: Init) {
        let mut actions = Vec::new();
        self.shard.init(&Arc::from(ID), init, self.now, &mut actions);
        self.settle(actions);
    }

    /// InitProducerId as the handler asks it: once more with an id if one is needed.
    pub(super) fn init_as(&mut self, current: Option<ProducerIdentity>, timeout_ms: i32) -> WaiterId {
        let waiter = self.waiter();
        self.init_once(Init { waiter, timeout_ms, current, fresh_producer_id: None });
        if self.answers.get(&waiter) == Some(&Answer::NeedsProducerId) {
            self.answers.remove(&waiter);
            let fresh_producer_id = Some(self.fresh_producer_id());
            self.init_once(Init { waiter, timeout_ms, current, fresh_producer_id });
        }
        waiter
    }

    pub(super) fn begin_init(&mut self) -> WaiterId {
        self.init_as(None, TIMEOUT_MS)
    }

    /// A producer that takes the id over, or begins with it.
    pub(super) fn init(&mut self) -> ProducerIdentity {
        let waiter = self.begin_init();
        producer_of(self.answer(waiter))
    }

    /// The answer to a producer that comes with what it has.
    pub(super) fn recover(&mut self, current: ProducerIdentity) -> Answer {
        let waiter = self.init_as(Some(current), TIMEOUT_MS);
        self.answer(waiter).expect("is answered")
    }

    pub(super) fn begin_add(
        &mut self,
        producer: ProducerIdentity,
        protocol: Protocol,
        partitions: &[TopicPartition],
    ) -> WaiterId {
        let waiter = self.waiter();
        let add = AddPartitions { waiter, producer, protocol, partitions: partitions.to_vec() };
        let mut actions = Vec::new();
        self.shard.add_partitions(&Arc::from(ID), add, self.now, &mut actions);
        self.settle(actions);
        waiter
    }

    pub(super) fn add(
        &mut self,
        producer: ProducerIdentity,
        protocol: Protocol,
        partitions: &[TopicPartition],
    ) -> Answer {
        let waiter = self.begin_add(producer, protocol, partitions);
        self.answer(waiter).expect("is answered")
    }

    pub(super) fn verify(&mut self, producer: ProducerIdentity, partition: &TopicPartition) -> Result<(), ErrorCode> {
        self.shard.verify(&Arc::from(ID), producer, partition)
    }

    /// EndTxn as the handler asks it: once more with an id if one is needed.
    pub(super) fn begin_end(&mut self, producer: ProducerIdentity, protocol: Protocol, commit: bool) -> WaiterId {
        let waiter = self.waiter();
        self.end_once(&End { waiter, producer, protocol, commit, fresh_producer_id: None });
        if self.answers.get(&waiter) == Some(&Answer::NeedsProducerId) {
            self.answers.remove(&waiter);
            let fresh_producer_id = Some(self.fresh_producer_id());
            self.end_once(&End { waiter, producer, protocol, commit, fresh_producer_id });
        }
        waiter
    }

    fn end_once(&mut self, end: &End) {
        let mut actions = Vec::new();
        self.shard.end(&Arc::from(ID), end, self.now, &mut actions);
        self.settle(actions);
    }

    pub(super) fn end(&mut self, producer: ProducerIdentity, protocol: Protocol, commit: bool) -> Answer {
        let waiter = self.begin_end(producer, protocol, commit);
        self.answer(waiter).expect("is answered")
    }

    /// A new producer with a transaction open in partition 0 of `orders`.
    pub(super) fn open(&mut self, protocol: Protocol) -> ProducerIdentity {
        let producer = self.init();
        assert_eq!(self.add(producer, protocol, &[orders(0)]), Answer::Added);
        assert_eq!(self.state(), TransactionState::Ongoing);
        producer
    }
}
