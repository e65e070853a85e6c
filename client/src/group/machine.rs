//! A member's life in a consumer group. Pure: events in, actions and a view out.
//!
//! ```text
//!            ┌───────────────── rebalance, cooperative or with nothing held ─────────────────┐
//!            ▼                                                                               │
//! Out ──► Joining ──► Syncing ──► Stable ──► Releasing (the caller lets go) ──► Joining      │
//!  ▲         │           │          │ │            │                                         │
//!  │         └───────────┴── unknown member, old generation: all is lost ──► Joining        Stable
//!  └── the caller has not polled for too long, or leaves
//! ```
//! Eager: everything is let go before joining. Cooperative (KIP-429): joining with what is held, then what the new
//! assignment leaves out is let go, and the member joins again so that others can have it.
//!
//! **Invariants.** One of join and sync is on its way at a time. What the coordinator may give to another member is
//! held only until the caller was told of it, unless membership was lost. Once failed or left nothing more is asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::assignor::TopicPartition;
use super::error::GroupError;
use crate::coordinator::wants_lookup;

/// A set of partitions that views share.
pub(super) type Partitions = Arc<BTreeSet<TopicPartition>>;

/// What has happened.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// Join, or join anew because the subscription changed.
    Subscribed,
    /// JoinGroup succeeded.
    Joined { generation: i32, member_id: String },
    /// JoinGroup was answered with an error; MEMBER_ID_REQUIRED brings the id.
    JoinRefused { code: ErrorCode, member_id: String },
    /// SyncGroup brought the member's share.
    Synced(BTreeSet<TopicPartition>),
    /// SyncGroup was answered with an error.
    SyncRefused(ErrorCode),
    /// The coordinator could not be reached for a join or sync.
    Unreachable,
    /// No broker can do what a member needs.
    Failed(GroupError),
    /// A heartbeat of a generation was answered.
    Beat { generation: i32, code: ErrorCode },
    /// The caller has let go of what it was told to, by the release's number.
    Released(u64),
    /// The leader sees that topics have other partitions than when it assigned them.
    TopicsChanged,
    /// The caller has not polled for too long.
    PollOverdue,
    /// It polls again.
    Polled,
    /// It leaves for good.
    Leave,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Send JoinGroup; `delayed` by the backoff.
    Join { delayed: bool },
    /// Send SyncGroup.
    Sync,
    /// Send LeaveGroup as the member it was, without waiting for the answer to matter.
    Leave { member_id: String },
    /// Find the coordinator anew.
    FindCoordinator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Out,
    Joining,
    Syncing,
    Stable,
    Releasing,
    Ended,
}

/// What the caller is to know.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    /// −1 while the member is in no generation.
    pub(super) generation: i32,
    pub(super) member_id: String,
    /// What the member may read.
    pub(super) assigned: Partitions,
    /// What it has to let go of first, with the release's number.
    pub(super) release: Option<(u64, Partitions)>,
    /// Whether the member is out until the caller polls.
    pub(super) out: bool,
    /// How often everything was lost without being let go.
    pub(super) losses: u64,
    /// Why the member is out for good.
    pub(super) failed: Option<GroupError>,
}

/// A member of a group.
#[derive(Debug)]
pub(super) struct Membership {
    cooperative: bool,
    is_static: bool,
    phase: Phase,
    view: View,
    releases: u64,
    /// A rebalance came while the last one was not through.
    again: bool,
    /// The last assignment and its generation.
    last: (Partitions, i32),
}

impl Membership {
    /// A member that has not joined.
    pub(super) fn new(cooperative: bool, is_static: bool) -> Self {
        let view = View { generation: -1, ..View::default() };
        let last = (Partitions::default(), -1);
        Self { cooperative, is_static, phase: Phase::Out, view, releases: 0, again: false, last }
    }

    /// What the caller is to know now.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Whether heartbeats are due: the member is in a generation and no join is on its way.
    pub(super) fn beats(&self) -> bool {
        matches!(self.phase, Phase::Stable | Phase::Releasing)
    }

    /// Whether the member is settled in its generation.
    pub(super) fn is_stable(&self) -> bool {
        self.phase == Phase::Stable
    }

    /// Whether nothing more will be asked.
    pub(super) fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// What it holds, which it joins with.
    pub(super) fn owned(&self) -> &BTreeSet<TopicPartition> {
        &self.view.assigned
    }

    /// Its last assignment and that generation.
    pub(super) fn last(&self) -> (&BTreeSet<TopicPartition>, i32) {
        (&self.last.0, self.last.1)
    }

    /// Takes in what has happened.
    pub(super) fn on(&mut self, event: Event) -> Vec<Action> {
        match event {
            _ if self.phase == Phase::Ended => Vec::new(),
            Event::Subscribed | Event::TopicsChanged => self.rebalance(),
            Event::Polled if self.phase == Phase::Out => self.join(false),
            Event::Joined { generation, member_id } if self.phase == Phase::Joining => {
                (self.view.generation, self.view.member_id, self.phase) = (generation, member_id, Phase::Syncing);
                vec![Action::Sync]
            }
            Event::JoinRefused { code, member_id } if self.phase == Phase::Joining => {
                self.join_refused(code, member_id)
            }
            Event::Synced(share) if self.phase == Phase::Syncing => self.synced(share),
            Event::SyncRefused(code) if self.phase == Phase::Syncing => self.refused("SyncGroup", code),
            Event::Unreachable if matches!(self.phase, Phase::Joining | Phase::Syncing) => {
                [vec![Action::FindCoordinator], self.join(true)].concat()
            }
            Event::Failed(error) => self.fail(error),
            Event::Beat { generation, code } if self.beats() && generation == self.view.generation => self.beat(code),
            Event::Released(number) if self.phase == Phase::Releasing => self.released(number),
            Event::PollOverdue if self.phase != Phase::Out => self.leave(Phase::Out),
            Event::Leave => self.leave(Phase::Ended),
            _ => Vec::new(),
        }
    }

    fn join(&mut self, delayed: bool) -> Vec<Action> {
        self.phase = Phase::Joining;
        (self.again, self.view.out) = (false, false);
        vec![Action::Join { delayed }]
    }

    /// A rebalance is called for.
    fn rebalance(&mut self) -> Vec<Action> {
        match self.phase {
            Phase::Out => self.join(false),
            Phase::Stable if self.cooperative || self.view.assigned.is_empty() => self.join(false),
            Phase::Stable => {
                let all = std::mem::take(&mut self.view.assigned);
                self.release(all);
                Vec::new()
            }
            // What was joined with is not what is wanted any more.
            Phase::Joining | Phase::Syncing => {
                self.again = true;
                Vec::new()
            }
            // It joins anyway once that is let go.
            Phase::Releasing | Phase::Ended => Vec::new(),
        }
    }

    fn release(&mut self, partitions: Partitions) {
        self.releases += 1;
        self.view.release = Some((self.releases, partitions));
        self.phase = Phase::Releasing;
    }

    fn released(&mut self, number: u64) -> Vec<Action> {
        if self.view.release.as_ref().is_none_or(|(wanted, _)| *wanted != number) {
            return Vec::new();
        }
        self.view.release = None;
        self.join(false)
    }

    fn synced(&mut self, share: BTreeSet<TopicPartition>) -> Vec<Action> {
        let held = std::mem::replace(&mut self.view.assigned, Arc::new(share));
        let left_out: BTreeSet<TopicPartition> = held.difference(&self.view.assigned).cloned().collect();
        self.last = (self.view.assigned.clone(), self.view.generation);
        self.phase = Phase::Stable;
        if !left_out.is_empty() {
            self.release(left_out.into());
            return Vec::new();
        }
        if std::mem::take(&mut self.again) { self.rebalance() } else { Vec::new() }
    }

    fn beat(&mut self, code: ErrorCode) -> Vec<Action> {
        match code {
            ErrorCode::None => Vec::new(),
            ErrorCode::RebalanceInProgress => self.rebalance(),
            code if wants_lookup(code) => vec![Action::FindCoordinator],
            code if code.is_retriable() => Vec::new(),
            code => self.refused("Heartbeat", code),
        }
    }

    fn join_refused(&mut self, code: ErrorCode, member_id: String) -> Vec<Action> {
        match code {
            // The id is known now; what is held is held still.
            ErrorCode::MemberIdRequired if !member_id.is_empty() => {
                self.view.member_id = member_id;
                self.join(false)
            }
            code => self.refused("JoinGroup", code),
        }
    }

    /// An error that join, sync and heartbeat have in common.
    fn refused(&mut self, api: &'static str, code: ErrorCode) -> Vec<Action> {
        match code {
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
                if code == ErrorCode::UnknownMemberId {
                    self.view.member_id.clear();
                }
                self.lose();
                self.join(false)
            }
            ErrorCode::RebalanceInProgress => self.join(api == "JoinGroup"),
            code if wants_lookup(code) => [vec![Action::FindCoordinator], self.join(true)].concat(),
            code if code.is_retriable() => self.join(true),
            code => self.fail(GroupError::of_member(api, code)),
        }
    }

    fn fail(&mut self, error: GroupError) -> Vec<Action> {
        self.lose();
        self.phase = Phase::Ended;
        self.view.failed = Some(error);
        Vec::new()
    }

    /// The member is out of its generation: others may have what it held already.
    fn lose(&mut self) {
        if !self.view.assigned.is_empty() || self.view.release.is_some() {
            self.view.losses += 1;
        }
        self.view.assigned = Partitions::default();
        self.view.release = None;
        self.view.generation = -1;
        self.last = (Partitions::default(), -1);
    }

    fn leave(&mut self, phase: Phase) -> Vec<Action> {
        let member_id = std::mem::take(&mut self.view.member_id);
        // A static member keeps its place until the session timeout, for it may be back soon (KIP-345).
        let stays = self.is_static && phase == Phase::Ended;
        let leaves = !member_id.is_empty() && !stays;
        self.lose();
        (self.phase, self.view.out) = (phase, phase == Phase::Out);
        if leaves { vec![Action::Leave { member_id }] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
