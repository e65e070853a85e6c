//! Static membership (KIP-345): a restarted client comes back under its `group.instance.id`.
//!
//! The new process gets a new member id in the old one's place, and the old id is fenced at once. In a stable group
//! nothing else changes: no rebalance, the same assignment.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Answer, JoinAnswer, SyncAnswer, Then};
use super::super::event::{Join, WaiterId};
use super::join::why;
use super::{Group, GroupState, Turn};

impl Group {
    pub(super) fn replace_static_member(
        &mut self,
        old_member_id: &Arc<str>,
        new_member_id: &Arc<str>,
        join: &Join,
        turn: &mut Turn<'_>,
    ) {
        let leader_before = self.leader.clone();
        self.fence(old_member_id, new_member_id, turn);
        self.renew_member(new_member_id, join, turn);
        if let Some(member) = self.members.get_mut(new_member_id) {
            member.heard(turn.now.monotonic);
        }
        match self.state {
            GroupState::Stable if self.members.elect_protocol() == self.protocol_name => {
                self.readmit(new_member_id, leader_before, join, turn);
            }
            // The leader may already be assigning to the old id; the new one would come away empty.
            GroupState::Stable | GroupState::CompletingRebalance => {
                self.prepare_rebalance(why("static member returns", join), turn);
            }
            GroupState::PreparingRebalance | GroupState::Empty | GroupState::Dead => {
                self.complete_join_if_all_joined(turn);
            }
        }
    }

    /// Puts the new id in the old one's place; whoever still waits under the old id is fenced.
    fn fence(&mut self, old_member_id: &Arc<str>, new_member_id: &Arc<str>, turn: &mut Turn<'_>) {
        let (join, sync) = self.members.replace_static(old_member_id, new_member_id).unwrap_or_default();
        if let Some(waiter) = join {
            turn.answer(waiter, JoinAnswer::refused(old_member_id, ErrorCode::FencedInstanceId));
        }
        if let Some(waiter) = sync {
            turn.answer(waiter, SyncAnswer::refused(ErrorCode::FencedInstanceId));
        }
        if self.is_leader(old_member_id) {
            self.leader = Some(Arc::clone(new_member_id));
        }
        if self.pending_sync.remove(old_member_id) {
            self.pending_sync.insert(Arc::clone(new_member_id));
        }
    }

    /// Writes the new id down, so that a restart does not fence the member by itself, and lets it go on after that.
    fn readmit(&mut self, member_id: &Arc<str>, leader_before: Option<Arc<str>>, join: &Join, turn: &mut Turn<'_>) {
        let mut answer = self.generation_answer(member_id);
        if join.supports_skip_assignment {
            answer.skip_assignment = self.is_leader(member_id);
        } else {
            // Before version 9 a returning leader cannot be told to keep the assignment: it is told that somebody
            // else leads, and so does not assign.
            answer.leader = leader_before.unwrap_or_else(|| Arc::from(""));
            answer.members = Vec::new();
        }
        let then = Then::AdmitStatic {
            member_id: Arc::clone(member_id),
            waiter: join.waiter,
            generation: self.generation,
            answer,
        };
        let record = self.metadata_record(|member| member.assignment.clone());
        turn.persist(&self.id, vec![record], then);
    }

    /// The new id is durable. If a rebalance has begun since, the member is part of that and answered by it.
    pub(in super::super) fn admit_static(
        &mut self,
        member_id: &Arc<str>,
        waiter: WaiterId,
        generation: i32,
        answer: JoinAnswer,
        turn: &mut Turn<'_>,
    ) {
        let is_waiting = self.members.get(member_id).is_some_and(|member| member.awaiting_join == Some(waiter));
        if !is_waiting || self.state != GroupState::Stable || self.generation != generation {
            return;
        }
        self.members.take_join(member_id);
        if let Some(member) = self.members.get_mut(member_id) {
            member.heard(turn.now.monotonic);
        }
        turn.answer(waiter, Answer::Join(answer));
    }
}
