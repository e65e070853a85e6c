//! LeaveGroup: members go, or an administrator removes them, and the others rebalance at once.

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist, Then};
use super::super::event::{Leave, LeavingMember};
use super::{Group, GroupState, Turn};

impl Group {
    /// Handles LeaveGroup; the answer follows the record, where the last member's leaving writes one.
    pub(in super::super) fn leave(&mut self, leave: &Leave, turn: &mut Turn<'_>) {
        let members_before = self.members.len();
        let pending_before = self.pending_join.len();
        let results = leave.members.iter().map(|member| self.leave_one(member, turn)).collect();
        let actions_before = turn.actions.len();
        if self.members.len() < members_before {
            self.prepare_or_complete("members left", turn);
        } else if self.pending_join.len() < pending_before {
            self.complete_join_if_all_joined(turn);
        }
        answer_after_record(actions_before, leave, Answer::Leave(results), turn);
    }

    fn leave_one(&mut self, leaving: &LeavingMember, turn: &mut Turn<'_>) -> ErrorCode {
        if self.state == GroupState::Dead {
            return ErrorCode::CoordinatorNotAvailable;
        }
        if leaving.group_instance_id.is_none() && self.pending_join.remove(&leaving.member_id).is_some() {
            return ErrorCode::None;
        }
        let group_instance_id = leaving.group_instance_id.as_deref();
        let member_id = if leaving.member_id.is_empty() {
            // An administrator names a static member by its instance id alone.
            match group_instance_id.and_then(|instance_id| self.members.static_member(instance_id)) {
                Some(member_id) => member_id.clone(),
                None => return ErrorCode::UnknownMemberId,
            }
        } else {
            leaving.member_id.clone()
        };
        if let Err(error) = self.check_member(&member_id, group_instance_id) {
            return error;
        }
        let reason = leaving.reason.as_deref().unwrap_or("not provided");
        tracing::info!(group = &*self.id, member = &*member_id, reason, "member leaves");
        self.remove_member(&member_id, turn);
        ErrorCode::None
    }
}

/// Ties the answer to the record the leaving has caused, if any.
fn answer_after_record(actions_before: usize, leave: &Leave, answer: Answer, turn: &mut Turn<'_>) {
    for action in &mut turn.actions[actions_before..] {
        if let Action::Persist(Persist { then: then @ Then::Nothing, .. }) = action {
            *then = Then::Answer(leave.waiter, answer);
            return;
        }
    }
    turn.answer(leave.waiter, answer);
}

/// Results for a group that does not exist: nobody named is a member.
pub(in super::super) fn leave_unknown_group(leave: &Leave) -> Answer {
    Answer::Leave(leave.members.iter().map(|_| ErrorCode::UnknownMemberId).collect())
}
