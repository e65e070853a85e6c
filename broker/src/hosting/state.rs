//! What a hosted shard keeps under its lock, and what it leaves to be done once the lock is released.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use pillion_wire::ErrorCode;

use super::hosted::Reply;
use super::moment::{Moment, MonotonicMs};
use super::{Action, ActionOf, Incarnation, Persisted, Shard, WaiterId};

/// Bytes after which queued records are left for the next batch.
const BATCH_BYTES: usize = 512 * 1024;

/// How many may wait before it matters what remembering them takes.
const WAITING_ROOM: usize = 64;

/// A look at the shard, or why there is none to be had; what it returns runs unlocked.
pub(crate) type DeferredLook<S> =
    Box<dyn FnOnce(Result<&mut S, ErrorCode>, &mut Vec<ActionOf<S>>) -> Box<dyn FnOnce() + Send> + Send>;

/// What is under the shard's lock.
pub(super) struct State<S: Shard> {
    pub(super) phase: Phase,
    pub(super) incarnation: Incarnation,
    /// Times in a row that what was in memory was given up, with nothing made durable in between.
    failures: u32,
    pub(super) core: S,
    waiting: HashMap<WaiterId, Reply<S::Answer>>,
    waiters: u64,
    /// Not yet appended.
    pub(super) queued: VecDeque<Queued<S>>,
    /// Number of the first of those that are being appended.
    pub(super) appending: Option<u64>,
    /// Appended and not yet durable.
    pub(super) appended: VecDeque<Appended<S>>,
    /// Number of the last records queued. Numbers have no gaps.
    last_queued: u64,
    looks: VecDeque<(u64, DeferredLook<S>)>,
    /// When what was appended and could wait is to be synced.
    pub(super) sync_at: Option<MonotonicMs>,
}

/// Records on their way into the log, with their number.
pub(super) struct Queued<S: Shard> {
    pub(super) number: u64,
    pub(super) persist: S::Persist,
}

/// Records on their way to the disk.
pub(super) struct Appended<S: Shard> {
    pub(super) number: u64,
    /// Offset of the first one.
    pub(super) offset: i64,
    /// Offset behind the batch they are in.
    pub(super) next_offset: i64,
    pub(super) persist: S::Persist,
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
pub(super) struct Outbox<S: Shard> {
    pub(super) answers: Vec<(Reply<S::Answer>, S::Answer)>,
    pub(super) effects: Vec<S::Effect>,
    /// Who wants the effects.
    pub(super) incarnation: Incarnation,
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

impl<S: Shard> State<S> {
    /// A shard that has not been read.
    pub(super) fn new(limits: Arc<S::Limits>) -> Self {
        Self {
            phase: Phase::Loading,
            incarnation: Incarnation::default(),
            failures: 0,
            core: S::new(limits),
            waiting: HashMap::new(),
            waiters: WaiterId::NOBODY.0,
            queued: VecDeque::new(),
            appending: None,
            appended: VecDeque::new(),
            last_queued: 0,
            looks: VecDeque::new(),
            sync_at: None,
        }
    }

    /// Keeps a reply until the core answers its waiter.
    pub(super) fn keep(&mut self, reply: Reply<S::Answer>) -> WaiterId {
        self.waiters += 1;
        let waiter = WaiterId(self.waiters);
        self.waiting.insert(waiter, reply);
        waiter
    }

    /// Looks at the shard once all that has been queued is durable, with the next [`State::take_in`] at the earliest.
    pub(super) fn look_when_durable(&mut self, look: DeferredLook<S>) {
        self.looks.push_back((self.last_queued, look));
    }

    /// Sorts what the core wants done, and runs the looks whose time has come.
    pub(super) fn take_in(&mut self, actions: Vec<ActionOf<S>>) -> Outbox<S> {
        let mut outbox = Outbox {
            answers: Vec::new(),
            effects: Vec::new(),
            incarnation: self.incarnation,
            calls: Vec::new(),
            has_queued: false,
            wake_at: None,
        };
        self.sort(actions, &mut outbox);
        self.give_room_back();
        while self.looks.front().is_some_and(|(number, _)| *number <= self.last_settled()) {
            let Some((_, look)) = self.looks.pop_front() else { break };
            let mut actions = Vec::new();
            let core = self.phase.refusal().map_or(Ok(&mut self.core), Err);
            outbox.calls.push(look(core, &mut actions));
            self.sort(actions, &mut outbox);
        }
        outbox.has_queued = !self.queued.is_empty();
        outbox.wake_at = self.core.next_deadline().into_iter().chain(self.sync_at).min();
        outbox
    }

    /// The next records to append together: those of one producer, or of none.
    pub(super) fn take_queued(&mut self) -> Vec<Queued<S>> {
        let producer = self.queued.front().and_then(|queued| queued.persist.producer());
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH_BYTES && self.queued.front().is_some_and(|queued| queued.persist.producer() == producer) {
            let Some(queued) = self.queued.pop_front() else { break };
            bytes += queued.persist.approximate_bytes();
            taken.push(queued);
        }
        self.appending = taken.first().map(|queued| queued.number);
        taken
    }

    /// Number of the last records that are durable, or were given up, with all before them.
    fn last_settled(&self) -> u64 {
        let appended = self.appended.front().map(|appended| appended.number);
        let queued = self.queued.front().map(|queued| queued.number);
        let first_open = appended.or(self.appending).or(queued);
        first_open.map_or(self.last_queued, |number| number - 1)
    }

    /// All that was appended up to an offset is durable.
    pub(super) fn settle(&mut self, next_offset: i64, now: Moment) -> Outbox<S> {
        let mut actions = Vec::new();
        while self.appended.front().is_some_and(|appended| appended.next_offset <= next_offset) {
            let Some(Appended { offset, persist, .. }) = self.appended.pop_front() else { break };
            self.failures = 0;
            self.core.persisted(persist, offset, now, &mut actions);
        }
        self.take_in(actions)
    }

    /// The log refused records for their producer's sake: only those who wait for them are concerned.
    pub(super) fn refuse(&mut self, refused: Vec<Queued<S>>, error: ErrorCode, now: Moment) -> Outbox<S> {
        let mut actions = Vec::new();
        for Queued { persist, .. } in refused {
            self.core.persist_refused(persist, error, now, &mut actions);
        }
        self.take_in(actions)
    }

    /// Gives up what is in memory: everyone who waits is answered, `lost` being records that were taken out of the
    /// queue already. The shard is to be read again.
    pub(super) fn give_up(&mut self, lost: Vec<Queued<S>>, now: Moment) -> Outbox<S> {
        self.incarnation.0 += 1;
        self.failures += 1;
        if self.phase == Phase::Serving {
            self.phase = Phase::Loading;
        }
        let appended = std::mem::take(&mut self.appended).into_iter().map(|appended| appended.persist);
        let queued = std::mem::take(&mut self.queued);
        let mut actions = Vec::new();
        for persist in appended.chain(lost.into_iter().chain(queued).map(|queued| queued.persist)) {
            self.core.persist_failed(persist, ErrorCode::NotCoordinator, &mut actions);
        }
        self.core.unload(ErrorCode::NotCoordinator, now, &mut actions);
        self.take_in(actions)
    }

    /// How long to leave the partition alone before it is read again: after a first failure not at all.
    pub(super) fn pause(&self) -> Duration {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST_DOUBLINGS: u32 = 6;
        match self.failures {
            0 | 1 => Duration::ZERO,
            _ if S::SERVES_OFFLINE => Duration::ZERO,
            failures => FIRST * (1 << (failures - 2).min(LONGEST_DOUBLINGS)),
        }
    }

    /// A rebalance makes thousands wait at once; what it took to remember them is not kept for the next one.
    fn give_room_back(&mut self) {
        let room = self.waiting.capacity();
        if room > WAITING_ROOM && self.waiting.len() < room / 4 {
            self.waiting.shrink_to(WAITING_ROOM);
        }
    }

    fn sort(&mut self, actions: Vec<ActionOf<S>>, outbox: &mut Outbox<S>) {
        for action in actions {
            match action {
                Action::Answer(waiter, answer) => {
                    if let Some(reply) = self.waiting.remove(&waiter) {
                        outbox.answers.push((reply, answer));
                    }
                }
                Action::Persist(persist) => {
                    self.last_queued += 1;
                    self.queued.push_back(Queued { number: self.last_queued, persist });
                }
                Action::Effect(effect) => outbox.effects.push(effect),
            }
        }
    }
}

#[cfg(test)]
mod tests;
