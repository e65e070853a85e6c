//! The groups of one partition of `__consumer_offsets`: the pure core of the coordinator.
//!
//! Events come in with a `Moment` and leave `Action`s behind; the coordinator carries them out and reports durable
//! records back through [`GroupShard::persisted`]. When an append fails, the coordinator reports that
//! ([`GroupShard::persist_failed`]), empties the shard ([`GroupShard::unload`]) and replays the partition anew: what
//! memory holds beyond the log is then worth nothing.
//!
//! Invariant: the schedule holds each group's next deadline, or an earlier one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::action::{Action, Answer, JoinAnswer, Persist, SyncAnswer, Then};
use super::event::{Heartbeat, Join, Leave, Sync, WaiterId};
use super::group::leave::leave_unknown_group;
use super::group::{Group, Turn};
use super::limits::{GROUPS_PER_SHARD_MAX, GroupLimits, MEMBER_METADATA_BYTES_MAX, PROTOCOLS_MAX, TEXT_BYTES_MAX};
use super::members::metadata_bytes;
use super::moment::{Moment, MonotonicMs};
use super::offsets::Offsets;

mod commit;
mod delete;
mod describe;
mod fetch;
mod replay;
mod retention;
mod transactions;

use transactions::ProducersUnderWay;

/// The groups of one partition of `__consumer_offsets`, and their committed offsets.
#[derive(Debug)]
pub(crate) struct GroupShard {
    limits: Arc<GroupLimits>,
    groups: HashMap<Arc<str>, Scheduled>,
    schedule: BTreeSet<(MonotonicMs, Arc<str>)>,
    offsets: Offsets,
    producers_under_way: ProducersUnderWay,
    /// Groups that are to be deleted once nothing of theirs is on its way into the log, and who asked for it.
    deletions: HashMap<Arc<str>, WaiterId>,
    /// When offsets were last looked through for old ones.
    retention_checked: Option<Moment>,
}

/// A group and its place in the schedule.
#[derive(Debug)]
struct Scheduled {
    group: Group,
    wake_at: Option<MonotonicMs>,
}

impl GroupShard {
    /// A shard without groups.
    pub(crate) fn new(limits: Arc<GroupLimits>) -> Self {
        Self {
            limits,
            groups: HashMap::new(),
            schedule: BTreeSet::new(),
            offsets: Offsets::default(),
            producers_under_way: ProducersUnderWay::default(),
            deletions: HashMap::new(),
            retention_checked: None,
        }
    }

    /// JoinGroup. A group begins to exist with the first join that brings no member id.
    pub(crate) fn join(&mut self, group_id: &Arc<str>, join: &Join, now: Moment, actions: &mut Vec<Action>) {
        let refusal = match self.check_join(group_id, join) {
            Err(error) => Some(error),
            Ok(()) if self.groups.contains_key(group_id) => None,
            Ok(()) if !join.member_id.is_empty() => Some(ErrorCode::UnknownMemberId),
            Ok(()) if self.groups.len() >= GROUPS_PER_SHARD_MAX => Some(ErrorCode::CoordinatorNotAvailable),
            Ok(()) => {
                self.add_group(Group::new(Arc::clone(group_id), now), group_id);
                None
            }
        };
        match refusal {
            Some(error) => actions.push(Action::Answer(join.waiter, JoinAnswer::refused(&join.member_id, error))),
            None => self.with_group(group_id, now, actions, |group, turn| group.join(join, turn)),
        }
    }

    /// SyncGroup.
    pub(crate) fn sync(&mut self, group_id: &Arc<str>, sync: &Sync, now: Moment, actions: &mut Vec<Action>) {
        if group_id.is_empty() {
            actions.push(Action::Answer(sync.waiter, SyncAnswer::refused(ErrorCode::InvalidGroupId)));
        } else if self.groups.contains_key(group_id) {
            self.with_group(group_id, now, actions, |group, turn| group.sync(sync, turn));
        } else {
            actions.push(Action::Answer(sync.waiter, SyncAnswer::refused(ErrorCode::UnknownMemberId)));
        }
    }

    /// Heartbeat: answered on the spot.
    pub(crate) fn heartbeat(&mut self, group_id: &str, heartbeat: &Heartbeat, now: Moment) -> ErrorCode {
        if group_id.is_empty() {
            return ErrorCode::InvalidGroupId;
        }
        match self.groups.get_mut(group_id) {
            Some(scheduled) => scheduled.group.heartbeat(heartbeat, now),
            None => ErrorCode::UnknownMemberId,
        }
    }

    /// LeaveGroup. INVALID_GROUP_ID for an empty group id is the handler's to answer: it stands beside the members' results.
    pub(crate) fn leave(&mut self, group_id: &Arc<str>, leave: &Leave, now: Moment, actions: &mut Vec<Action>) {
        if self.groups.contains_key(group_id) {
            self.with_group(group_id, now, actions, |group, turn| group.leave(leave, turn));
        } else {
            actions.push(Action::Answer(leave.waiter, leave_unknown_group(leave)));
        }
    }

    /// Does what is due by now. Calling it early does nothing.
    pub(crate) fn tick(&mut self, now: Moment, actions: &mut Vec<Action>) {
        while let Some((deadline, group_id)) = self.schedule.first().cloned() {
            if deadline > now.monotonic {
                return;
            }
            self.with_group(&group_id, now, actions, Group::tick);
            if self
                .groups
                .get(&group_id)
                .is_some_and(|scheduled| scheduled.wake_at.is_some_and(|at| at <= now.monotonic))
            {
                // Due again at once; the next tick's turn, so that this one ends.
                return;
            }
        }
    }

    /// When [`GroupShard::tick`] is next to be called. Ask again after every event.
    pub(crate) fn next_deadline(&self) -> Option<MonotonicMs> {
        self.schedule.first().map(|(deadline, _)| *deadline)
    }

    /// The records of a [`Persist`] are durable, the first at `base_offset` of the log, the others right behind it, and so
    /// is everything given out before it.
    pub(crate) fn persisted(&mut self, persist: Persist, base_offset: i64, now: Moment, actions: &mut Vec<Action>) {
        let Persist { group_id, records, producer, then } = persist;
        if then.is_about_offsets() {
            match producer {
                Some(producer) => self.apply_pending_records(records, base_offset, producer.id),
                None => self.apply_records(records, base_offset),
            }
            self.append_ended(&group_id, actions);
        }
        match then {
            Then::Nothing => {}
            Then::Forget => self.forget_if_of_no_use(&group_id, now, actions),
            Then::Answer(waiter, answer) => actions.push(Action::Answer(waiter, answer)),
            Then::Assign { generation, assignments } => {
                self.with_group(&group_id, now, actions, |group, turn| group.assign(generation, assignments, turn));
            }
            Then::AdmitStatic { member_id, waiter, generation, answer } => {
                self.with_group(&group_id, now, actions, |group, turn| {
                    group.admit_static(&member_id, waiter, generation, answer, turn);
                });
            }
            Then::Commit { waiter, results } => actions.push(Action::Answer(waiter, Answer::Commit(results))),
            Then::DeleteGroup(waiter) => {
                actions.push(Action::Answer(waiter, Answer::DeleteGroup(ErrorCode::None)));
            }
            Then::DeleteOffsets { waiter, results } => {
                actions.push(Action::Answer(waiter, Answer::DeleteOffsets(Ok(results))));
                self.forget_if_of_no_use(&group_id, now, actions);
            }
        }
    }

    /// An append has failed: answers those that only waited for it. [`GroupShard::unload`] is to follow.
    pub(crate) fn persist_failed(&mut self, persist: Persist, error: ErrorCode, actions: &mut Vec<Action>) {
        let (waiter, answer) = match persist.then {
            Then::Answer(waiter, Answer::Leave(results)) => (waiter, Answer::Leave(vec![error; results.len()])),
            Then::Commit { waiter, results } => (waiter, Answer::Commit(vec![error; results.len()])),
            Then::DeleteGroup(waiter) => (waiter, Answer::DeleteGroup(error)),
            Then::DeleteOffsets { waiter, .. } => (waiter, Answer::DeleteOffsets(Err(error))),
            Then::Answer(waiter, answer) => (waiter, answer),
            // Members wait in their group, and are answered as it is unloaded.
            Then::Nothing | Then::Assign { .. } | Then::AdmitStatic { .. } | Then::Forget => return,
        };
        actions.push(Action::Answer(waiter, answer));
    }

    /// Answers everyone who waits, and forgets everything.
    pub(crate) fn unload(&mut self, error: ErrorCode, now: Moment, actions: &mut Vec<Action>) {
        for (_, waiter) in self.deletions.drain() {
            actions.push(Action::Answer(waiter, Answer::DeleteGroup(error)));
        }
        let mut turn = Turn { limits: &self.limits, now, actions };
        for scheduled in self.groups.values_mut() {
            scheduled.group.unload(error, &mut turn);
        }
        self.groups.clear();
        self.schedule.clear();
        self.offsets = Offsets::default();
        self.producers_under_way = ProducersUnderWay::default();
    }

    fn check_join(&self, group_id: &str, join: &Join) -> Result<(), ErrorCode> {
        if group_id.is_empty() || group_id.len() > TEXT_BYTES_MAX {
            return Err(ErrorCode::InvalidGroupId);
        }
        let is_session_timeout_allowed = u64::try_from(join.session_timeout_ms).is_ok_and(|timeout_ms| {
            let timeout = std::time::Duration::from_millis(timeout_ms);
            (self.limits.session_timeout_min..=self.limits.session_timeout_max).contains(&timeout)
        });
        if !is_session_timeout_allowed {
            return Err(ErrorCode::InvalidSessionTimeout);
        }
        let instance_id = join.group_instance_id.as_deref().unwrap_or_default();
        let are_texts_short =
            [&*join.member_id, &*join.client_id, &*join.client_host, &*join.protocol_type, instance_id]
                .into_iter()
                .chain(join.protocols.iter().map(|protocol| &*protocol.name))
                .all(|text| text.len() <= TEXT_BYTES_MAX);
        let is_small =
            join.protocols.len() <= PROTOCOLS_MAX && metadata_bytes(&join.protocols) <= MEMBER_METADATA_BYTES_MAX;
        if are_texts_short && is_small { Ok(()) } else { Err(ErrorCode::InvalidRequest) }
    }

    fn add_group(&mut self, group: Group, group_id: &Arc<str>) {
        self.groups.insert(Arc::clone(group_id), Scheduled { group, wake_at: None });
    }

    /// Lets a group handle an event, then puts it where its next deadline is.
    fn with_group(
        &mut self,
        group_id: &Arc<str>,
        now: Moment,
        actions: &mut Vec<Action>,
        handle: impl FnOnce(&mut Group, &mut Turn<'_>),
    ) {
        let Some(scheduled) = self.groups.get_mut(group_id) else { return };
        handle(&mut scheduled.group, &mut Turn { limits: &self.limits, now, actions });
        let wake_at = scheduled.group.next_deadline();
        if let Some(before) = std::mem::replace(&mut scheduled.wake_at, wake_at) {
            self.schedule.remove(&(before, Arc::clone(group_id)));
        }
        if let Some(wake_at) = wake_at {
            self.schedule.insert((wake_at, Arc::clone(group_id)));
        }
        let is_of_no_use = scheduled.group.is_vacant() && scheduled.group.is_unwritten();
        if is_of_no_use && !self.offsets.knows(group_id) {
            self.groups.remove(group_id);
        }
    }
}
