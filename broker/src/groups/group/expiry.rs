//! Time passes: silent members go, and a rebalance does not wait for ever.

use std::sync::Arc;

use super::super::moment::MonotonicMs;
use super::{Group, GroupState, Turn};

impl Group {
    /// Does what is due. Calling it early does nothing.
    pub(in super::super) fn tick(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now.monotonic;
        self.expire_pending(now, turn);
        self.expire_sessions(now, turn);
        if self.join_deadline.is_some_and(|deadline| deadline <= now) {
            self.join_deadline_passed(turn);
        }
        if self.sync_deadline.is_some_and(|deadline| deadline <= now) {
            self.expire_syncs(turn);
        }
    }

    /// When [`Group::tick`] next has something to do. Heartbeats only move it further away.
    pub(in super::super) fn next_deadline(&self) -> Option<MonotonicMs> {
        let sessions = self.members.iter().map(|member| member.session_deadline).min();
        let pending = self.pending_join.values().copied().min();
        [sessions, pending, self.join_deadline, self.sync_deadline].into_iter().flatten().min()
    }

    fn expire_pending(&mut self, now: MonotonicMs, turn: &mut Turn<'_>) {
        let before = self.pending_join.len();
        self.pending_join.retain(|_, deadline| *deadline > now);
        if self.pending_join.len() < before {
            self.complete_join_if_all_joined(turn);
        }
    }

    fn expire_sessions(&mut self, now: MonotonicMs, turn: &mut Turn<'_>) {
        let mut silent: Vec<Arc<str>> = Vec::new();
        for member in self.members.iter_mut().filter(|member| member.session_deadline <= now) {
            if member.is_excused() {
                member.restart_session(now);
            } else {
                silent.push(Arc::clone(&member.id));
            }
        }
        if silent.is_empty() {
            return;
        }
        for member_id in &silent {
            tracing::info!(
                group = &*self.id,
                member = &**member_id,
                "member was silent for its session timeout: removed"
            );
            self.remove_member(member_id, turn);
        }
        self.prepare_or_complete("members were silent", turn);
    }

    fn expire_syncs(&mut self, turn: &mut Turn<'_>) {
        self.sync_deadline = None;
        let missing = std::mem::take(&mut self.pending_sync);
        if missing.is_empty() || !matches!(self.state, GroupState::CompletingRebalance | GroupState::Stable) {
            return;
        }
        for member_id in &missing {
            tracing::info!(
                group = &*self.id,
                member = &**member_id,
                "member did not fetch its assignment in time: removed"
            );
            self.remove_member(member_id, turn);
        }
        self.prepare_rebalance("members did not fetch their assignment", turn);
    }
}
