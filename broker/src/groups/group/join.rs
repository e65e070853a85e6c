//! JoinGroup: a member asks to be in the next generation.
//!
//! A new member, a leader that rejoins, or a member that changed what it offers begins a rebalance; a follower that
//! rejoins unchanged is only told the current generation.

use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Answer, JoinAnswer};
use super::super::event::Join;
use super::super::limits::{GROUP_METADATA_BYTES_MAX, GroupLimits, PENDING_MEMBERS_MAX};
use super::super::member::Member;
use super::super::members::metadata_bytes;
use super::{Group, GroupState, Turn};

impl Group {
    /// Handles JoinGroup; the waiter is answered now or by a later event.
    pub(in super::super) fn join(&mut self, join: &Join, turn: &mut Turn<'_>) {
        if self.state == GroupState::Dead {
            turn.answer(join.waiter, JoinAnswer::refused(&join.member_id, ErrorCode::CoordinatorNotAvailable));
        } else if !self.has_room_for(join, turn.limits) {
            self.pending_join.remove(&join.member_id);
            self.remove_member(&join.member_id, turn);
            turn.answer(join.waiter, JoinAnswer::refused(&Arc::from(""), ErrorCode::GroupMaxSizeReached));
            self.complete_join_if_all_joined(turn);
        } else if !self.shares_protocol_with(join) {
            turn.answer(join.waiter, JoinAnswer::refused(&join.member_id, ErrorCode::InconsistentGroupProtocol));
        } else if join.member_id.is_empty() {
            self.join_first_time(join, turn);
        } else {
            self.join_again(join, turn);
        }
    }

    /// `group.max.size`. While members rejoin, those that came first count; afterwards those that are in.
    fn has_room_for(&self, join: &Join, limits: &GroupLimits) -> bool {
        let member_id = &*join.member_id;
        if self.members.metadata_bytes() + metadata_bytes(&join.protocols) > GROUP_METADATA_BYTES_MAX {
            return false;
        }
        match self.state {
            GroupState::Empty | GroupState::Dead => true,
            GroupState::PreparingRebalance => {
                self.members.get(member_id).is_some_and(|member| member.awaiting_join.is_some())
                    || self.members.awaiting_join() < limits.group_size_max
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                self.members.contains(member_id) || self.members.len() < limits.group_size_max
            }
        }
    }

    fn shares_protocol_with(&self, join: &Join) -> bool {
        if self.state == GroupState::Empty {
            return !join.protocol_type.is_empty() && !join.protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(&*join.protocol_type) && self.members.share_any(&join.protocols)
    }

    fn join_first_time(&mut self, join: &Join, turn: &mut Turn<'_>) {
        let prefix = join.group_instance_id.as_ref().unwrap_or(&join.client_id);
        let new_member_id: Arc<str> = Arc::from(format!("{prefix}-{}", join.fresh_id));
        if let Some(group_instance_id) = &join.group_instance_id {
            match self.members.static_member(group_instance_id).cloned() {
                Some(old_member_id) => self.replace_static_member(&old_member_id, &new_member_id, join, turn),
                None => self.add_member(new_member_id, join, turn),
            }
        } else if join.requires_known_member_id {
            self.hand_out_member_id(new_member_id, join, turn);
        } else {
            self.add_member(new_member_id, join, turn);
        }
    }

    fn hand_out_member_id(&mut self, member_id: Arc<str>, join: &Join, turn: &mut Turn<'_>) {
        if self.pending_join.len() >= PENDING_MEMBERS_MAX {
            turn.answer(join.waiter, JoinAnswer::refused(&join.member_id, ErrorCode::GroupMaxSizeReached));
            return;
        }
        turn.answer(join.waiter, JoinAnswer::refused(&member_id, ErrorCode::MemberIdRequired));
        self.pending_join.insert(member_id, turn.now.monotonic.after(join.session_timeout()));
    }

    fn join_again(&mut self, join: &Join, turn: &mut Turn<'_>) {
        // Pending ids belong to dynamic members: one that comes with an instance id is not the same client.
        if join.group_instance_id.is_none() && self.pending_join.contains_key(&join.member_id) {
            self.add_member(Arc::clone(&join.member_id), join, turn);
            return;
        }
        if let Err(error) = self.check_member(&join.member_id, join.group_instance_id.as_deref()) {
            turn.answer(join.waiter, JoinAnswer::refused(&join.member_id, error));
            return;
        }
        let is_unchanged =
            self.members.get(&join.member_id).is_some_and(|member| member.offers_exactly(&join.protocols));
        let is_told_current = match self.state {
            // It may have missed the answer to its join.
            GroupState::CompletingRebalance => is_unchanged,
            // The leader rejoins to have partitions assigned anew, for topics may have changed.
            GroupState::Stable => is_unchanged && !self.is_leader(&join.member_id),
            GroupState::PreparingRebalance | GroupState::Empty | GroupState::Dead => false,
        };
        if is_told_current {
            if let Some(member) = self.members.get_mut(&join.member_id) {
                member.heard(turn.now.monotonic);
            }
            turn.answer(join.waiter, Answer::Join(self.generation_answer(&join.member_id)));
        } else {
            self.renew_member(&join.member_id, join, turn);
            self.prepare_or_complete(why("member rejoins", join), turn);
        }
    }

    fn add_member(&mut self, member_id: Arc<str>, join: &Join, turn: &mut Turn<'_>) {
        if let Some(delay) = &mut self.initial_delay {
            delay.member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::clone(&join.protocol_type));
        }
        self.pending_join.remove(&member_id);
        self.leader.get_or_insert_with(|| Arc::clone(&member_id));
        self.members.insert(Member::joining(member_id, join, turn.now.monotonic));
        self.prepare_or_complete(why("new member", join), turn);
    }

    /// Takes over what a rejoining member now offers, and parks its request.
    pub(super) fn renew_member(&mut self, member_id: &str, join: &Join, turn: &mut Turn<'_>) {
        self.members.offer(member_id, &join.protocols);
        if let Some(member) = self.members.get_mut(member_id) {
            member.is_heard = true;
            member.session_timeout = join.session_timeout();
            member.rebalance_timeout = join.rebalance_timeout();
        }
        if let Some(displaced) = self.members.park_join(member_id, join.waiter) {
            // The same member asks again, so nobody reads the first answer; if somebody does, it retries.
            turn.answer(displaced, JoinAnswer::refused(&Arc::from(member_id), ErrorCode::RebalanceInProgress));
        }
    }

    /// The current generation as one of its members is told of it; the leader learns all members.
    pub(super) fn generation_answer(&self, member_id: &Arc<str>) -> JoinAnswer {
        let protocol_name = self.protocol_name.as_deref().unwrap_or_default();
        let members = if self.is_leader(member_id) {
            self.members.iter().map(|member| member.as_joined(protocol_name)).collect()
        } else {
            Vec::new()
        };
        JoinAnswer {
            error: ErrorCode::None,
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone().unwrap_or_else(|| Arc::from("")),
            skip_assignment: false,
            member_id: Arc::clone(member_id),
            members,
        }
    }
}

/// Why a rebalance begins, for the log; the client's own reason with it.
pub(super) fn why<'a>(what: &'a str, join: &'a Join) -> impl std::fmt::Display + use<'a> {
    let reason = join.reason.as_deref().unwrap_or("not provided");
    std::fmt::from_fn(move |formatter| write!(formatter, "{what} (client {}, reason: {reason})", join.client_id))
}
