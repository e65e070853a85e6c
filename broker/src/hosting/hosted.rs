//! A shard and the partition it lives in: events in, batches to the log, answers out when they may leave.
//!
//! ```text
//! event ─► core (locked) ─► answers ──────────────────────────────► sent
//!                        └► records ─► queue ─► append ─► durable ─► core.persisted ─► answers ─► sent
//!                                               (one at a time, in order)  (on a sync thread)
//! ```
//! Invariants: records reach the log in the order the core gave them; a request is answered once. When an append or
//! a sync fails, everyone who waits is answered with NOT_COORDINATOR, and the shard is read anew from the log.

use std::sync::Arc;

use parking_lot::Mutex;
use pillion_wire::ErrorCode;

use super::moment::{Moment, MonotonicMs};
use super::state::{DeferredLook, Phase, State};
use super::timer::{Alarm, Clock};
use super::{ActionOf, Incarnation, Shard, WaiterId};
use crate::partition::{MarkerGuard, Partition};

/// Called once with an answer, or with why the shard cannot give one.
pub(crate) type Reply<Answer> = Box<dyn FnOnce(Result<Answer, ErrorCode>) + Send>;

/// Carries out what a shard wants done outside of it. Called without any lock, on whatever thread the wish arose.
pub(crate) type Outside<S> = Arc<dyn Fn(&Arc<Hosted<S>>, Incarnation, <S as Shard>::Effect) + Send + Sync>;

/// The shard of one partition.
pub(crate) struct Hosted<S: Shard> {
    pub(super) partition: Arc<Partition>,
    pub(super) limits: Arc<S::Limits>,
    pub(super) clock: Clock,
    pub(super) alarm: Arc<Alarm>,
    pub(super) outside: Outside<S>,
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) state: Mutex<State<S>>,
}

impl<S: Shard> Hosted<S> {
    pub(super) fn new(
        partition: Arc<Partition>,
        limits: Arc<S::Limits>,
        clock: Clock,
        alarm: Arc<Alarm>,
        outside: Outside<S>,
    ) -> Self {
        let state = Mutex::new(State::new(Arc::clone(&limits)));
        let runtime = tokio::runtime::Handle::current();
        Self { partition, limits, clock, alarm, outside, runtime, state }
    }

    /// As [`Partition::guard`], for records of a producer's transaction.
    pub(crate) fn guard(&self, producer_id: i64, producer_epoch: i16) -> Option<MarkerGuard> {
        self.partition.guard(producer_id, producer_epoch)
    }

    /// Hands an event to the shard; `reply` gets the answer to its waiter.
    pub(crate) fn request(
        self: &Arc<Self>,
        reply: Reply<S::Answer>,
        handle: impl FnOnce(&mut S, WaiterId, Moment, &mut Vec<ActionOf<S>>),
    ) {
        let outbox = {
            let mut state = self.state.lock();
            if let Some(error) = state.phase.refusal() {
                drop(state);
                reply(Err(error));
                return;
            }
            let waiter = state.keep(reply);
            let mut actions = Vec::new();
            handle(&mut state.core, waiter, self.clock.now(), &mut actions);
            state.take_in(actions)
        };
        self.finish(outbox);
    }

    /// Hands an event that nobody waits for to the shard, if it serves. One that is in the partition as well, as a marker
    /// is, is not missed otherwise: it is read from there.
    pub(crate) fn tell(self: &Arc<Self>, handle: impl FnOnce(&mut S, Moment, &mut Vec<ActionOf<S>>)) {
        self.tell_if(|_| true, handle);
    }

    /// As [`Hosted::tell`], if the shard has not been read anew since `incarnation`.
    pub(crate) fn tell_incarnation(
        self: &Arc<Self>,
        incarnation: Incarnation,
        handle: impl FnOnce(&mut S, Moment, &mut Vec<ActionOf<S>>),
    ) {
        self.tell_if(|state| state.incarnation == incarnation, handle);
    }

    fn tell_if(
        self: &Arc<Self>,
        is_meant: impl FnOnce(&State<S>) -> bool,
        handle: impl FnOnce(&mut S, Moment, &mut Vec<ActionOf<S>>),
    ) {
        let outbox = {
            let mut state = self.state.lock();
            if state.phase != Phase::Serving || !is_meant(&state) {
                return;
            }
            let mut actions = Vec::new();
            handle(&mut state.core, self.clock.now(), &mut actions);
            state.take_in(actions)
        };
        self.finish(outbox);
    }

    /// Runs work that may block on a thread of the runtime, whatever thread this is called on: answers come on sync
    /// threads, too.
    pub(crate) fn spawn_blocking(&self, work: impl FnOnce() + Send + 'static) {
        self.runtime.spawn_blocking(work);
    }

    /// Asks the shard something it answers on the spot.
    ///
    /// # Errors
    /// Why the shard does not serve: COORDINATOR_LOAD_IN_PROGRESS while it is read.
    pub(crate) fn ask<T>(&self, ask: impl FnOnce(&mut S, Moment) -> T) -> Result<T, ErrorCode> {
        let mut state = self.state.lock();
        match state.phase.refusal() {
            None => Ok(ask(&mut state.core, self.clock.now())),
            Some(error) => Err(error),
        }
    }

    /// Looks at the shard and hands what was seen to `respond`: at once, or, if `must_wait` says so, once all that has
    /// been queued is durable.
    pub(crate) fn read<T: Send + 'static>(
        self: &Arc<Self>,
        must_wait: impl FnOnce(&S) -> bool,
        read: impl FnOnce(&S) -> T + Send + 'static,
        respond: impl FnOnce(Result<T, ErrorCode>) + Send + 'static,
    ) {
        let mut state = self.state.lock();
        if let Some(error) = state.phase.refusal() {
            drop(state);
            respond(Err(error));
        } else if must_wait(&state.core) {
            state.look_when_durable(Box::new(move |core, _| {
                let seen = core.map(|core| read(core));
                Box::new(move || respond(seen))
            }));
            drop(state);
            self.partition.sync_soon();
        } else {
            let seen = read(&state.core);
            drop(state);
            respond(Ok(seen));
        }
    }

    /// Looks at the shard once all that has been queued is durable.
    pub(crate) fn look_when_durable(self: &Arc<Self>, look: DeferredLook<S>) {
        let outbox = {
            let mut state = self.state.lock();
            state.look_when_durable(look);
            state.take_in(Vec::new())
        };
        self.partition.sync_soon();
        self.finish(outbox);
    }

    /// Does what is due; answers when to come again.
    pub(super) fn tick(self: &Arc<Self>, is_look_due: bool) -> Option<MonotonicMs> {
        let mut outbox = {
            let mut state = self.state.lock();
            if state.phase != Phase::Serving {
                return None;
            }
            let now = self.clock.now();
            if state.sync_at.is_some_and(|at| at <= now.monotonic) {
                state.sync_at = None;
                self.partition.sync_soon();
            }
            let mut actions = Vec::new();
            state.core.tick(now, &mut actions);
            if is_look_due {
                state.core.look_through(now, &mut actions);
            }
            state.take_in(actions)
        };
        let wake_at = outbox.wake_at.take();
        self.finish(outbox);
        wake_at
    }

    /// Answers everyone who waits for others, and takes no more requests.
    pub(super) fn stop(self: &Arc<Self>) {
        let outbox = {
            let mut state = self.state.lock();
            state.phase = Phase::Stopped;
            let mut actions = Vec::new();
            state.core.unload(ErrorCode::NotCoordinator, self.clock.now(), &mut actions);
            state.take_in(actions)
        };
        self.finish(outbox);
    }
}
