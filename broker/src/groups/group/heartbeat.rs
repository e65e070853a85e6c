//! Heartbeat: a member lives, and learns whether it must rejoin.

use pillion_wire::ErrorCode;

use super::super::event::Heartbeat;
use super::super::moment::Moment;
use super::{Group, GroupState};

impl Group {
    /// NONE, REBALANCE_IN_PROGRESS when the member is to rejoin, or why it is not a member of this generation.
    pub(in super::super) fn heartbeat(&mut self, heartbeat: &Heartbeat, now: Moment) -> ErrorCode {
        if self.state == GroupState::Dead {
            return ErrorCode::CoordinatorNotAvailable;
        }
        if let Err(error) = self.check_member(&heartbeat.member_id, heartbeat.group_instance_id.as_deref()) {
            return error;
        }
        if heartbeat.generation != self.generation {
            return ErrorCode::IllegalGeneration;
        }
        if let Some(member) = self.members.get_mut(&heartbeat.member_id) {
            member.heard(now.monotonic);
        }
        if self.state == GroupState::PreparingRebalance { ErrorCode::RebalanceInProgress } else { ErrorCode::None }
    }
}
