//! SyncGroup: the leader brings the assignment, the others fetch theirs.
//!
//! Invariant: no member is given an assignment that is not durable; until the leader's is, everyone waits.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use pillion_wire::ErrorCode;

use super::super::action::{Answer, SyncAnswer, Then};
use super::super::event::Sync;
use super::super::limits::ASSIGNMENT_BYTES_MAX;
use super::super::member::Member;
use super::{Group, GroupState, Turn};

impl Group {
    /// Handles SyncGroup; the waiter is answered now or by a later event.
    pub(in super::super) fn sync(&mut self, sync: &Sync, turn: &mut Turn<'_>) {
        if let Err(error) = self.check_sync(sync) {
            turn.answer(sync.waiter, SyncAnswer::refused(error));
            return;
        }
        self.pending_sync.remove(&sync.member_id);
        if self.pending_sync.is_empty() {
            self.sync_deadline = None;
        }
        if self.state == GroupState::Stable {
            if let Some(member) = self.members.get_mut(&sync.member_id) {
                member.heard(turn.now.monotonic);
                let assignment = member.assignment.clone();
                turn.answer(sync.waiter, self.assignment_answer(assignment));
            }
            return;
        }
        let displaced = self.members.get_mut(&sync.member_id).and_then(|member| {
            member.is_heard = true;
            member.awaiting_sync.replace(sync.waiter)
        });
        if let Some(displaced) = displaced {
            // The same member asks again, so nobody reads the first answer; if somebody does, it rejoins.
            turn.answer(displaced, SyncAnswer::refused(ErrorCode::RebalanceInProgress));
        }
        // Of a leader that asks twice, the first assignment stands.
        if self.is_leader(&sync.member_id) && !self.is_assignment_in_flight {
            self.write_assignment(sync, turn);
        }
    }

    fn check_sync(&self, sync: &Sync) -> Result<(), ErrorCode> {
        if self.state == GroupState::Dead {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        self.check_member(&sync.member_id, sync.group_instance_id.as_deref())?;
        if sync.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        if differ(&sync.protocol_type, &self.protocol_type) || differ(&sync.protocol_name, &self.protocol_name) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        if self.state == GroupState::PreparingRebalance {
            return Err(ErrorCode::RebalanceInProgress);
        }
        let assigned: usize = sync.assignments.iter().map(|(_, assignment)| assignment.len()).sum();
        if assigned > ASSIGNMENT_BYTES_MAX { Err(ErrorCode::UnknownServerError) } else { Ok(()) }
    }

    fn write_assignment(&mut self, sync: &Sync, turn: &mut Turn<'_>) {
        let given: HashMap<&str, &Bytes> =
            sync.assignments.iter().map(|(member_id, assignment)| (&**member_id, assignment)).collect();
        let given_to = |member: &Member| given.get(&*member.id).map_or(&[][..], |assignment| assignment);
        let without = self.members.iter().filter(|member| !given.contains_key(&*member.id)).count();
        if without > 0 {
            tracing::warn!(
                group = &*self.id,
                generation = self.generation,
                members = without,
                "the leader left members without an assignment: theirs is empty"
            );
        }
        // A copy for all of them, so that members do not keep the request's frame in memory.
        let mut copy = BytesMut::with_capacity(self.members.iter().map(|member| given_to(member).len()).sum());
        self.members.iter().for_each(|member| copy.extend_from_slice(given_to(member)));
        let mut copy = copy.freeze();
        let assignments: Vec<(Arc<str>, Bytes)> =
            self.members.iter().map(|member| (Arc::clone(&member.id), copy.split_to(given_to(member).len()))).collect();
        let mut in_order = assignments.iter();
        let record = self.metadata_record(|_| in_order.next().map(|(_, bytes)| bytes.clone()).unwrap_or_default());
        self.is_assignment_in_flight = true;
        turn.persist(&self.id, vec![record], Then::Assign { generation: self.generation, assignments });
    }

    /// The assignment is durable. If a rebalance has begun since, it is no longer wanted.
    pub(in super::super) fn assign(
        &mut self,
        generation: i32,
        assignments: Vec<(Arc<str>, Bytes)>,
        turn: &mut Turn<'_>,
    ) {
        if self.state != GroupState::CompletingRebalance || self.generation != generation {
            return;
        }
        self.is_assignment_in_flight = false;
        for (member_id, assignment) in assignments {
            if let Some(member) = self.members.get_mut(&member_id) {
                member.assignment = assignment;
            }
        }
        self.transition(GroupState::Stable, turn.now);
        let mut waiting = Vec::new();
        for member in self.members.iter_mut() {
            if let Some(waiter) = member.awaiting_sync.take() {
                member.restart_session(turn.now.monotonic);
                waiting.push((waiter, member.assignment.clone()));
            }
        }
        for (waiter, assignment) in waiting {
            turn.answer(waiter, self.assignment_answer(assignment));
        }
    }

    fn assignment_answer(&self, assignment: Bytes) -> Answer {
        Answer::Sync(SyncAnswer {
            error: ErrorCode::None,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment,
        })
    }
}

/// Before version 5 a request names neither type nor strategy, and that is consistent with everything.
fn differ(asked: &Option<Arc<str>>, current: &Option<Arc<str>>) -> bool {
    matches!((asked, current), (Some(asked), Some(current)) if asked != current)
}
