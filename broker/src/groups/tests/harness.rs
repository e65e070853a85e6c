//! A shard with a clock that stands still until told, and a log that is as quick or as slow as a test wants.

mod requests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, JoinAnswer, Persist, SyncAnswer};
use super::super::event::{TransactionEnd, WaiterId};
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::record::GroupRecord;
use super::super::shard::GroupShard;

pub(super) use requests::{partition_offset, protocols};

pub(super) const GROUP: &str = "saga";
const WALL_START_MS: i64 = 1_700_000_000_000;

/// One record of the partition.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Record { record: GroupRecord, producer_id: Option<i64> },
    Marker { producer_id: i64, is_committed: bool },
}

/// A shard and what surrounds it. Answers are kept until asked for; a waiter answered twice fails the test.
pub(super) struct Harness {
    pub(super) shard: GroupShard,
    pub(super) limits: Arc<GroupLimits>,
    pub(super) now: Moment,
    /// Whether records are durable as soon as they are written.
    pub(super) is_log_prompt: bool,
    /// Appends whose durability has not been reported, each with the offset of its first record.
    pub(super) in_flight: VecDeque<(i64, Persist)>,
    /// All records whose durability was reported, in order.
    pub(super) log: Vec<GroupRecord>,
    /// Whether batches of transactional producers are refused.
    pub(super) is_producer_fenced: bool,
    /// What is in the partition: the offset is the place. All below `durable` would outlive the process.
    pub(super) journal: Vec<Entry>,
    pub(super) durable: usize,
    answers: std::collections::HashMap<WaiterId, Answer>,
    waiters: u64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_limits(GroupLimits::default())
    }

    pub(super) fn with_limits(limits: GroupLimits) -> Self {
        let limits = Arc::new(limits);
        Self {
            shard: GroupShard::new(Arc::clone(&limits)),
            limits,
            now: Moment { monotonic: MonotonicMs(1_000), wall_ms: WALL_START_MS },
            is_log_prompt: true,
            in_flight: VecDeque::new(),
            log: Vec::new(),
            is_producer_fenced: false,
            journal: Vec::new(),
            durable: 0,
            answers: std::collections::HashMap::new(),
            waiters: 0,
        }
    }

    pub(super) fn waiter(&mut self) -> WaiterId {
        self.waiters += 1;
        WaiterId(self.waiters)
    }

    /// The answer to a waiter, if it has come.
    pub(super) fn answer(&mut self, waiter: WaiterId) -> Option<Answer> {
        self.answers.remove(&waiter)
    }

    pub(super) fn join_answer(&mut self, waiter: WaiterId) -> Option<JoinAnswer> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Join(answer) => answer,
            other => panic!("not an answer to JoinGroup: {other:?}"),
        })
    }

    pub(super) fn sync_answer(&mut self, waiter: WaiterId) -> Option<SyncAnswer> {
        self.answer(waiter).map(|answer| match answer {
            Answer::Sync(answer) => answer,
            other => panic!("not an answer to SyncGroup: {other:?}"),
        })
    }

    pub(super) fn settle(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Answer(waiter, answer) => {
                    assert!(self.answers.insert(waiter, answer).is_none(), "{waiter:?} is answered twice");
                }
                Action::Persist(persist) if persist.producer.is_some() && self.is_producer_fenced => {
                    let mut actions = Vec::new();
                    let error = ErrorCode::InvalidProducerEpoch;
                    self.shard.persist_refused(persist, error, self.now, &mut actions);
                    self.settle(actions);
                }
                Action::Persist(persist) => self.append(persist),
            }
        }
        if self.is_log_prompt {
            self.flush();
        }
    }

    fn append(&mut self, persist: Persist) {
        let producer_id = persist.producer.map(|producer| producer.id);
        let offset = i64::try_from(self.journal.len()).unwrap();
        self.journal.extend(persist.records.iter().cloned().map(|record| Entry::Record { record, producer_id }));
        self.in_flight.push_back((offset, persist));
    }

    /// The oldest append becomes durable.
    pub(super) fn flush_one(&mut self) {
        let Some((offset, persist)) = self.in_flight.pop_front() else { return };
        self.durable = self.durable.max(usize::try_from(offset).unwrap() + persist.records.len());
        self.log.extend(persist.records.iter().cloned());
        let mut actions = Vec::new();
        self.shard.persisted(persist, offset, self.now, &mut actions);
        self.settle(actions);
    }

    /// A marker is durable, and so is all before it, but of that the shard may hear later.
    pub(super) fn end_transaction(&mut self, producer_id: i64, is_committed: bool) {
        let marker_offset = i64::try_from(self.journal.len()).unwrap();
        self.journal.push(Entry::Marker { producer_id, is_committed });
        self.durable = self.journal.len();
        let mut actions = Vec::new();
        let end = TransactionEnd { marker_offset, is_committed };
        self.shard.transaction_ended(producer_id, end, self.now, &mut actions);
        self.settle(actions);
    }

    /// Everything written becomes durable.
    pub(super) fn flush(&mut self) {
        while !self.in_flight.is_empty() {
            self.flush_one();
        }
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

    fn advance_to(&mut self, monotonic: MonotonicMs) {
        let passed = monotonic.0 - self.now.monotonic.0;
        self.now = Moment { monotonic, wall_ms: self.now.wall_ms + i64::try_from(passed).unwrap() };
    }

    /// The committed offset of partition 0 of `orders`.
    pub(super) fn committed(&self) -> Option<i64> {
        self.shard.committed(GROUP, "orders", 0).map(|committed| committed.offset)
    }

    pub(super) fn expire_offsets(&mut self) {
        let mut actions = Vec::new();
        self.shard.expire_offsets(self.now, &mut actions);
        self.settle(actions);
    }

    /// The process dies and another one reads what was durable.
    pub(super) fn restart(&mut self) {
        self.in_flight.clear();
        self.journal.truncate(self.durable);
        self.shard = GroupShard::new(Arc::clone(&self.limits));
        self.log.clear();
        for (offset, entry) in (0..).zip(self.journal.clone()) {
            match entry {
                Entry::Record { record, producer_id } => {
                    self.log.push(record.clone());
                    self.shard.replay(record, offset, producer_id, self.now);
                }
                Entry::Marker { producer_id, is_committed } => {
                    self.shard.replay_marker(producer_id, TransactionEnd { marker_offset: offset, is_committed });
                }
            }
        }
        // Reading takes longer than a session timeout.
        self.advance_to(self.now.monotonic.after(Duration::from_secs(60)));
        let mut actions = Vec::new();
        self.shard.loaded(self.now, &mut actions);
        self.settle(actions);
    }
}
