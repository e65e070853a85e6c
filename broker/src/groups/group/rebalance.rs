//! From one generation to the next: ask everybody to rejoin, wait, go on with those that came.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::ErrorCode;

use super::super::action::{Answer, SyncAnswer, Then};
use super::{Group, GroupState, InitialDelay, Turn};

/// How long at least a group waits that found nobody to lead it; its static members may still come back.
const RETRY_WAIT_MIN: Duration = Duration::from_secs(1);

impl Group {
    /// Begins a rebalance, or, if one is under way, sees whether the last missing member has come.
    pub(super) fn prepare_or_complete(&mut self, reason: impl std::fmt::Display, turn: &mut Turn<'_>) {
        match self.state {
            GroupState::Empty | GroupState::CompletingRebalance | GroupState::Stable => {
                self.prepare_rebalance(reason, turn);
            }
            GroupState::PreparingRebalance | GroupState::Dead => self.complete_join_if_all_joined(turn),
        }
    }

    pub(super) fn prepare_rebalance(&mut self, reason: impl std::fmt::Display, turn: &mut Turn<'_>) {
        if self.state == GroupState::CompletingRebalance {
            self.cancel_assignment(turn);
        }
        self.pending_sync.clear();
        self.sync_deadline = None;
        self.is_assignment_in_flight = false;
        tracing::info!(
            group = &*self.id, generation = self.generation, members = self.members.len(), %reason,
            "rebalance begins"
        );
        let is_initial = self.state == GroupState::Empty;
        self.transition(GroupState::PreparingRebalance, turn.now);
        if is_initial {
            self.begin_initial_delay(turn);
        } else if self.all_joined() {
            self.complete_join(turn);
        } else {
            self.join_deadline = Some(turn.now.monotonic.after(self.members.rebalance_timeout()));
        }
    }

    /// Ends the wait early when nobody is missing; the initial delay is always waited out.
    pub(super) fn complete_join_if_all_joined(&mut self, turn: &mut Turn<'_>) {
        if self.state == GroupState::PreparingRebalance && self.initial_delay.is_none() && self.all_joined() {
            self.complete_join(turn);
        }
    }

    /// The join deadline has passed.
    pub(super) fn join_deadline_passed(&mut self, turn: &mut Turn<'_>) {
        let delay = turn.limits.initial_rebalance_delay;
        match &mut self.initial_delay {
            Some(initial) if initial.member_added && !initial.remaining.is_zero() => {
                let wait = delay.min(initial.remaining);
                initial.member_added = false;
                initial.remaining -= wait;
                self.join_deadline = Some(turn.now.monotonic.after(wait));
            }
            _ => self.complete_join(turn),
        }
    }

    fn begin_initial_delay(&mut self, turn: &mut Turn<'_>) {
        let delay = turn.limits.initial_rebalance_delay;
        if delay.is_zero() {
            self.complete_join(turn);
            return;
        }
        let remaining = self.members.rebalance_timeout().saturating_sub(delay);
        self.initial_delay = Some(InitialDelay { member_added: false, remaining });
        self.join_deadline = Some(turn.now.monotonic.after(delay));
    }

    /// Goes on with the members that have come. Dynamic ones that have not are gone; static ones keep their place
    /// until their session ends.
    fn complete_join(&mut self, turn: &mut Turn<'_>) {
        self.join_deadline = None;
        self.initial_delay = None;
        let missing: Vec<Arc<str>> = self
            .members
            .iter()
            .filter(|member| member.awaiting_join.is_none() && member.group_instance_id.is_none())
            .map(|member| Arc::clone(&member.id))
            .collect();
        for member_id in missing {
            tracing::info!(group = &*self.id, member = &*member_id, "member did not rejoin in time: removed");
            self.remove_member(&member_id, turn);
        }
        if self.members.is_empty() {
            self.become_empty(turn);
        } else if self.settle_leader() {
            self.begin_generation(turn);
        } else {
            let wait = self.members.rebalance_timeout().max(RETRY_WAIT_MIN);
            self.join_deadline = Some(turn.now.monotonic.after(wait));
        }
    }

    /// Keeps the leader if it has come, else takes the earliest member that has; false when none has.
    fn settle_leader(&mut self) -> bool {
        let has_come =
            |member_id: &Arc<str>| self.members.get(member_id).is_some_and(|member| member.awaiting_join.is_some());
        if self.leader.as_ref().is_some_and(has_come) {
            return true;
        }
        let Some(successor) = self.members.earliest(|member| member.awaiting_join.is_some()).cloned() else {
            return false;
        };
        self.leader = Some(successor);
        true
    }

    fn become_empty(&mut self, turn: &mut Turn<'_>) {
        self.next_generation();
        self.protocol_name = None;
        self.leader = None;
        self.transition(GroupState::Empty, turn.now);
        tracing::info!(group = &*self.id, generation = self.generation, "group is empty");
        let record = self.metadata_record(|_| Bytes::new());
        turn.persist(&self.id, vec![record], Then::Nothing);
    }

    fn begin_generation(&mut self, turn: &mut Turn<'_>) {
        self.next_generation();
        self.protocol_name = self.members.elect_protocol();
        self.transition(GroupState::CompletingRebalance, turn.now);
        tracing::info!(
            group = &*self.id,
            generation = self.generation,
            members = self.members.len(),
            "generation begins"
        );
        self.sync_deadline = Some(turn.now.monotonic.after(self.members.rebalance_timeout()));
        let member_ids: Vec<Arc<str>> = self.members.iter().map(|member| Arc::clone(&member.id)).collect();
        turn.actions.reserve(member_ids.len());
        for member_id in member_ids {
            if let Some(waiter) = self.members.take_join(&member_id) {
                turn.answer(waiter, Answer::Join(self.generation_answer(&member_id)));
            }
            if let Some(member) = self.members.get_mut(&member_id) {
                member.restart_session(turn.now.monotonic);
                member.is_new = false;
            }
            self.pending_sync.insert(member_id);
        }
    }

    /// Two thousand million rebalances on, it starts again from 1.
    fn next_generation(&mut self) {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
    }

    /// Those that wait for an assignment must rejoin instead.
    fn cancel_assignment(&mut self, turn: &mut Turn<'_>) {
        for member in self.members.iter_mut() {
            member.assignment = Bytes::new();
            if let Some(waiter) = member.awaiting_sync.take() {
                member.restart_session(turn.now.monotonic);
                turn.answer(waiter, SyncAnswer::refused(ErrorCode::RebalanceInProgress));
            }
        }
    }
}
