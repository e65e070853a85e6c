//! One consumer group under the classic protocol, as Apache Kafka 4.x runs it.
//!
//! ```text
//!            join                 all rejoined, or time is up
//!  Empty ────────► PreparingRebalance ────────► CompletingRebalance
//!    ▲                │    ▲    ▲                   │         │
//!    └────────────────┘    │    └───────────────────┘         │ leader's assignment is durable
//!      nobody is left      │     join, leave, silence         ▼
//!                          └──────────────────────────────  Stable
//! ```
//! Dead is a group whose deletion is on its way into the log.
//!
//! Each event of the protocol has its file: `join` and `static_join`, `rebalance`, `sync`, `heartbeat`, `leave`,
//! `commit`, `expiry`, `retention`; `describe` shows it, `load` brings a group back from the log.
//!
//! Invariants: the generation grows with every completed join and never goes back while the group is in memory; in
//! Empty and Dead there are no members; every parked request is answered once, whatever becomes of its member.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::ErrorCode;

use super::action::{Action, Answer, JoinAnswer, Persist, SyncAnswer, Then};
use super::event::WaiterId;
use super::limits::GroupLimits;
use super::member::Member;
use super::members::Members;
use super::moment::{Moment, MonotonicMs};
use super::record::{GroupMetadata, GroupRecord};

mod commit;
mod delete;
mod describe;
mod expiry;
mod heartbeat;
mod join;
pub(super) mod leave;
mod load;
mod rebalance;
pub(super) mod retention;
mod static_join;
mod sync;

/// Where a group stands; Kafka's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupState {
    /// No members; perhaps committed offsets.
    Empty,
    /// Members are to send JoinGroup; the next generation waits for them.
    PreparingRebalance,
    /// The generation's members are known; the leader's assignment is not, or is not durable yet.
    CompletingRebalance,
    /// Every member can have its assignment.
    Stable,
    /// Being deleted.
    Dead,
}

impl GroupState {
    /// As Kafka's tools know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// What surrounds one event: the limits, the time, and the list its consequences go to.
pub(super) struct Turn<'a> {
    pub(super) limits: &'a GroupLimits,
    pub(super) now: Moment,
    pub(super) actions: &'a mut Vec<Action>,
}

impl Turn<'_> {
    pub(super) fn answer(&mut self, waiter: WaiterId, answer: Answer) {
        self.actions.push(Action::Answer(waiter, answer));
    }

    pub(super) fn persist(&mut self, group_id: &Arc<str>, records: Vec<GroupRecord>, then: Then) {
        self.actions.push(Action::Persist(Persist::new(group_id, records, then)));
    }
}

/// The wait for more members before a group's first generation (`group.initial.rebalance.delay.ms`).
#[derive(Debug)]
struct InitialDelay {
    /// Someone joined since the wait was last begun: it may be prolonged.
    member_added: bool,
    /// How much longer it may be prolonged.
    remaining: Duration,
}

/// A consumer group.
#[derive(Debug)]
pub(super) struct Group {
    id: Arc<str>,
    state: GroupState,
    /// `None` only when read from a record of a version that does not say.
    state_since_ms: Option<i64>,
    generation: i32,
    protocol_type: Option<Arc<str>>,
    protocol_name: Option<Arc<str>>,
    leader: Option<Arc<str>>,
    members: Members,
    /// Ids handed out with MEMBER_ID_REQUIRED, and until when they may be used.
    pending_join: BTreeMap<Arc<str>, MonotonicMs>,
    /// Members of this generation that have not sent SyncGroup.
    pending_sync: BTreeSet<Arc<str>>,
    initial_delay: Option<InitialDelay>,
    /// When PreparingRebalance goes on without those that are missing.
    join_deadline: Option<MonotonicMs>,
    /// When members that have not sent SyncGroup are removed.
    sync_deadline: Option<MonotonicMs>,
    /// The leader's assignment for this generation is on its way into the log.
    is_assignment_in_flight: bool,
}

impl Group {
    /// A group that nobody has joined: the state before a first JoinGroup, and for ever that of a group which
    /// only commits offsets.
    pub(super) fn new(id: Arc<str>, now: Moment) -> Self {
        Self {
            id,
            state: GroupState::Empty,
            state_since_ms: Some(now.wall_ms),
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: Members::default(),
            pending_join: BTreeMap::new(),
            pending_sync: BTreeSet::new(),
            initial_delay: None,
            join_deadline: None,
            sync_deadline: None,
            is_assignment_in_flight: false,
        }
    }

    pub(super) fn state(&self) -> GroupState {
        self.state
    }

    /// Whether nothing but committed offsets, if any, would be lost with the group.
    pub(super) fn is_vacant(&self) -> bool {
        self.state == GroupState::Empty && self.pending_join.is_empty()
    }

    /// Whether the log knows nothing of the group's members: it never completed a join.
    pub(super) fn is_unwritten(&self) -> bool {
        self.generation == 0 && self.protocol_type.is_none()
    }

    /// Answers every parked request with an error, when the shard goes away.
    pub(super) fn unload(&mut self, error: ErrorCode, turn: &mut Turn<'_>) {
        let member_ids: Vec<Arc<str>> = self.members.iter().map(|member| Arc::clone(&member.id)).collect();
        for member_id in member_ids {
            self.refuse_parked(&member_id, &member_id, error, turn);
        }
    }

    /// Marks the group as being deleted; its vacancy has been checked.
    pub(super) fn bury(&mut self, now: Moment) {
        self.transition(GroupState::Dead, now);
    }

    fn transition(&mut self, state: GroupState, now: Moment) {
        self.state = state;
        self.state_since_ms = Some(now.wall_ms);
    }

    fn all_joined(&self) -> bool {
        self.members.awaiting_join() == self.members.len() && self.pending_join.is_empty()
    }

    fn is_leader(&self, member_id: &str) -> bool {
        self.leader.as_deref() == Some(member_id)
    }

    /// Whether a request comes from the current member of that id and instance id.
    fn check_member(&self, member_id: &str, group_instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(group_instance_id) = group_instance_id {
            let current = self.members.static_member(group_instance_id).and_then(|id| self.members.get(id));
            match current {
                Some(current) if *current.id == *member_id => {}
                Some(current) if current.is_heard => return Err(ErrorCode::FencedInstanceId),
                // The log may be behind: a returning member's new id is only written with its generation. One that
                // was cut off by a restart of this process must come again, not give up for good.
                Some(_) | None => return Err(ErrorCode::UnknownMemberId),
            }
        }
        if self.members.contains(member_id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    /// Takes a member out, refusing what it has parked: UNKNOWN_MEMBER_ID lets a client that is still there begin
    /// anew. The leader's place goes to the earliest of the others.
    fn remove_member(&mut self, member_id: &str, turn: &mut Turn<'_>) -> Option<Box<Member>> {
        self.refuse_parked(member_id, &Arc::from(""), ErrorCode::UnknownMemberId, turn);
        let member = self.members.remove(member_id)?;
        self.pending_sync.remove(member_id);
        if self.is_leader(member_id) {
            self.leader = self.members.earliest(|_| true).cloned();
        }
        Some(member)
    }

    fn refuse_parked(&mut self, member_id: &str, told_id: &Arc<str>, error: ErrorCode, turn: &mut Turn<'_>) {
        if let Some(waiter) = self.members.take_join(member_id) {
            turn.answer(waiter, JoinAnswer::refused(told_id, error));
        }
        if let Some(waiter) = self.members.get_mut(member_id).and_then(|member| member.awaiting_sync.take()) {
            turn.answer(waiter, SyncAnswer::refused(error));
        }
    }

    /// The group as it goes into the log, each member with the assignment it is to have; they are asked for in order of
    /// member id.
    fn metadata_record(&self, mut assignment_of: impl FnMut(&Member) -> Bytes) -> GroupRecord {
        let protocol_name = self.protocol_name.as_deref().unwrap_or_default();
        GroupRecord::Metadata {
            group_id: Arc::clone(&self.id),
            metadata: Some(GroupMetadata {
                protocol_type: self.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
                generation: self.generation,
                protocol_name: self.protocol_name.clone(),
                leader: self.leader.clone(),
                state_since_ms: self.state_since_ms,
                members: self
                    .members
                    .iter()
                    .map(|member| member.as_metadata(protocol_name, assignment_of(member)))
                    .collect(),
            }),
        }
    }
}
