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

use super::super::action::{Action, Answer};
use super::super::event::{Commit, Heartbeat, Join, Leave, Sync, WaiterId};
use super::super::limits::GroupLimits;
use super::super::moment::{Moment, MonotonicMs};
use super::super::shard::GroupShard;
use super::Clock;
use super::shard_state::{DeferredLook, Phase, State};
use super::timer::Alarm;
use crate::partition::Partition;

/// Called once with an answer, or with why the shard cannot give one.
pub(crate) type Reply = Box<dyn FnOnce(Result<Answer, ErrorCode>) + Send>;

/// The shard of one partition of `__consumer_offsets`.
pub(crate) struct HostedShard {
    pub(super) partition: Arc<Partition>,
    pub(super) limits: Arc<GroupLimits>,
    pub(super) clock: Clock,
    pub(super) alarm: Arc<Alarm>,
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) state: Mutex<State>,
}

impl HostedShard {
    pub(super) fn new(partition: Arc<Partition>, limits: Arc<GroupLimits>, clock: Clock, alarm: Arc<Alarm>) -> Self {
        let state = State::new(Arc::clone(&limits));
        let runtime = tokio::runtime::Handle::current();
        Self { partition, limits, clock, alarm, runtime, state: Mutex::new(state) }
    }

    /// JoinGroup; `join` makes the event for a waiter.
    pub(crate) fn join(self: &Arc<Self>, group_id: &Arc<str>, join: impl FnOnce(WaiterId) -> Join, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.join(group_id, &join(waiter), now, actions));
    }

    /// SyncGroup; as [`HostedShard::join`].
    pub(crate) fn sync(self: &Arc<Self>, group_id: &Arc<str>, sync: impl FnOnce(WaiterId) -> Sync, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.sync(group_id, &sync(waiter), now, actions));
    }

    /// LeaveGroup; as [`HostedShard::join`].
    pub(crate) fn leave(self: &Arc<Self>, group_id: &Arc<str>, leave: impl FnOnce(WaiterId) -> Leave, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.leave(group_id, &leave(waiter), now, actions));
    }

    /// OffsetCommit; as [`HostedShard::join`].
    pub(crate) fn commit(self: &Arc<Self>, group_id: &Arc<str>, commit: impl FnOnce(WaiterId) -> Commit, reply: Reply) {
        self.request(reply, |core, waiter, now, actions| core.commit(group_id, commit(waiter), now, actions));
    }

    /// Heartbeat. While the shard is read members are told that all is well, as Kafka does.
    pub(crate) fn heartbeat(&self, group_id: &str, heartbeat: &Heartbeat) -> ErrorCode {
        let mut state = self.state.lock();
        match state.phase.refusal() {
            None => state.core.heartbeat(group_id, heartbeat, self.clock.now()),
            Some(ErrorCode::CoordinatorLoadInProgress) => ErrorCode::None,
            Some(error) => error,
        }
    }

    /// Looks at committed offsets and hands what was seen to `respond`: at once, or, if `is_stable` and commits of
    /// the group are on their way, once they are durable.
    pub(crate) fn read<T: Send + 'static>(
        self: &Arc<Self>,
        group_id: &str,
        is_stable: bool,
        read: impl FnOnce(&GroupShard) -> T + Send + 'static,
        respond: impl FnOnce(Result<T, ErrorCode>) + Send + 'static,
    ) {
        let mut state = self.state.lock();
        if let Some(error) = state.phase.refusal() {
            drop(state);
            respond(Err(error));
        } else if is_stable && state.core.is_commit_under_way(group_id) {
            state.look_when_durable(Box::new(move |core, _| {
                let seen = core.map(|core| read(core));
                Box::new(move || respond(seen))
            }));
        } else {
            let seen = read(&state.core);
            drop(state);
            respond(Ok(seen));
        }
    }

    /// Forgets a topic's offsets, once those on their way are durable.
    pub(super) fn forget_topic(self: &Arc<Self>, topic: Arc<str>) {
        let forget: DeferredLook = Box::new(move |core, actions| {
            if let Ok(core) = core {
                core.forget_topic(&topic, actions);
            }
            Box::new(|| {})
        });
        let outbox = {
            let mut state = self.state.lock();
            state.look_when_durable(forget);
            state.take_in(Vec::new())
        };
        self.finish(outbox);
    }

    /// Does what is due; answers when to come again.
    pub(super) fn tick(self: &Arc<Self>, is_retention_due: bool) -> Option<MonotonicMs> {
        let mut outbox = {
            let mut state = self.state.lock();
            if state.phase != Phase::Serving {
                return None;
            }
            let now = self.clock.now();
            let mut actions = Vec::new();
            state.core.tick(now, &mut actions);
            if is_retention_due {
                state.core.expire_offsets(now, &mut actions);
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

    fn request(
        self: &Arc<Self>,
        reply: Reply,
        handle: impl FnOnce(&mut GroupShard, WaiterId, Moment, &mut Vec<Action>),
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
}
