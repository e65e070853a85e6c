//! What a hosted shard keeps under its lock, and what it leaves to be done once the lock is released.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist};
use super::super::event::WaiterId;
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::shard::GroupShard;
use super::hosted_shard::Reply;

/// Bytes after which queued records are left for the next batch.
const BATCH_BYTES: usize = 512 * 1024;

/// A look at the shard, or why there is none to be had; what it returns runs unlocked.
pub(super) type DeferredLook =
    Box<dyn FnOnce(Result<&mut GroupShard, ErrorCode>, &mut Vec<Action>) -> Box<dyn FnOnce() + Send> + Send>;

/// What is under the shard's lock.
pub(super) struct State {
    pub(super) phase: Phase,
    /// Counts the times the shard was read, so that what was begun before does not reach what was read after.
    pub(super) incarnation: u64,
    pub(super) core: GroupShard,
    waiting: HashMap<WaiterId, Reply>,
    waiters: u64,
    /// Not yet appended, each with its number.
    pub(super) queued: VecDeque<(u64, Persist)>,
    pub(super) is_appending: bool,
    /// Appended and not yet durable, each with its number and the offset behind it.
    pub(super) appended: VecDeque<(u64, i64, Persist)>,
    /// Number of the last record queued, and of the last that is durable.
    last_queued: u64,
    last_durable: u64,
    looks: VecDeque<(u64, DeferredLook)>,
}

/// Whether a shard answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its partition is being read.
    Loading,
    /// It answers.
    Serving,
    /// Its partition cannot be read.
    Unreadable,
    /// The broker is stopping.
    Stopped,
}

/// What is to be done once the lock is released.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) answers: Vec<(Reply, Answer)>,
    /// Answers of another kind.
    pub(super) calls: Vec<Box<dyn FnOnce() + Send>>,
    pub(super) has_queued: bool,
    pub(super) wake_at: Option<MonotonicMs>,
}

impl Phase {
    pub(super) fn refusal(self) -> Option<ErrorCode> {
        match self {
            Self::Serving => None,
            Self::Loading => Some(ErrorCode::CoordinatorLoadInProgress),
            Self::Unreadable => Some(ErrorCode::CoordinatorNotAvailable),
            Self::Stopped => Some(ErrorCode::NotCoordinator),
        }
    }
}

impl State {
    /// A shard that has not been read.
    pub(super) fn new(limits: Arc<GroupLimits>) -> Self {
        Self {
            phase: Phase::Loading,
            incarnation: 0,
            core: GroupShard::new(limits),
            waiting: HashMap::new(),
            waiters: 0,
            queued: VecDeque::new(),
            is_appending: false,
            appended: VecDeque::new(),
            last_queued: 0,
            last_durable: 0,
            looks: VecDeque::new(),
        }
    }

    /// Keeps a reply until the core answers its waiter.
    pub(super) fn keep(&mut self, reply: Reply) -> WaiterId {
        self.waiters += 1;
        let waiter = WaiterId(self.waiters);
        self.waiting.insert(waiter, reply);
        waiter
    }

    /// Looks at the shard once all that has been queued is durable, with the next [`State::take_in`] at the earliest.
    pub(super) fn look_when_durable(&mut self, look: DeferredLook) {
        self.looks.push_back((self.last_queued, look));
    }

    /// Sorts what the core wants done, and runs the looks whose time has come.
    pub(super) fn take_in(&mut self, actions: Vec<Action>) -> Outbox {
        let mut outbox = Outbox::default();
        self.sort(actions, &mut outbox);
        while self.looks.front().is_some_and(|(number, _)| *number <= self.last_durable) {
            let Some((_, look)) = self.looks.pop_front() else { break };
            let mut actions = Vec::new();
            let core = self.phase.refusal().map_or(Ok(&mut self.core), Err);
            outbox.calls.push(look(core, &mut actions));
            self.sort(actions, &mut outbox);
        }
        outbox.has_queued = !self.queued.is_empty();
        outbox.wake_at = self.core.next_deadline();
        outbox
    }

    /// The next records to append together.
    pub(super) fn take_queued(&mut self) -> Vec<(u64, Persist)> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            let Some((number, persist)) = self.queued.pop_front() else { break };
            bytes += persist.approximate_bytes();
            taken.push((number, persist));
        }
        taken
    }

    /// All that was appended up to an offset is durable.
    pub(super) fn settle(&mut self, next_offset: i64, now: Moment) -> Outbox {
        let mut actions = Vec::new();
        while self.appended.front().is_some_and(|(_, offset, _)| *offset <= next_offset) {
            let Some((number, _, persist)) = self.appended.pop_front() else { break };
            self.last_durable = number;
            self.core.persisted(persist, now, &mut actions);
        }
        self.take_in(actions)
    }

    /// Gives up what is in memory: everyone who waits is answered, `lost` being records that were taken out of the
    /// queue already. The shard is to be read again.
    pub(super) fn give_up(&mut self, lost: Vec<(u64, Persist)>, now: Moment) -> Outbox {
        self.incarnation += 1;
        if self.phase == Phase::Serving {
            self.phase = Phase::Loading;
        }
        let appended = std::mem::take(&mut self.appended).into_iter().map(|(_, _, persist)| persist);
        let queued = std::mem::take(&mut self.queued);
        let mut actions = Vec::new();
        for persist in appended.chain(lost.into_iter().chain(queued).map(|(_, persist)| persist)) {
            self.core.persist_failed(persist, ErrorCode::NotCoordinator, &mut actions);
        }
        self.core.unload(ErrorCode::NotCoordinator, now, &mut actions);
        self.last_durable = self.last_queued;
        self.take_in(actions)
    }

    fn sort(&mut self, actions: Vec<Action>, outbox: &mut Outbox) {
        for action in actions {
            match action {
                Action::Answer(waiter, answer) => {
                    if let Some(reply) = self.waiting.remove(&waiter) {
                        outbox.answers.push((reply, answer));
                    }
                }
                Action::Persist(persist) => {
                    self.last_queued += 1;
                    self.queued.push_back((self.last_queued, persist));
                }
            }
        }
    }
}
