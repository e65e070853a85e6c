//! OffsetCommit and TxnOffsetCommit: whether a commit may be taken from whoever sends it.

use pillion_wire::ErrorCode;

use super::super::event::Commit;
use super::super::moment::Moment;
use super::{Group, GroupState};

impl Group {
    /// Refuses commits of those who are not, or no longer, in the current generation. A commit without member and
    /// generation comes from a consumer that assigns itself, or from a tool, and is taken while nobody else is there;
    /// inside a transaction it comes from a producer older than KIP-447, whose epoch alone fences it, and is always taken.
    pub(in super::super) fn check_commit(&self, commit: &Commit) -> Result<(), ErrorCode> {
        if self.state == GroupState::Dead {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if commit.generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        let is_transactional = commit.producer.is_some();
        if commit.generation < 0 && commit.member_id.is_empty() && commit.group_instance_id.is_none() {
            return if is_transactional { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
        }
        self.check_member(&commit.member_id, commit.group_instance_id.as_deref())?;
        if commit.generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        if self.state == GroupState::CompletingRebalance && !is_transactional {
            // The member is up to date, but its partitions may by now be somebody else's.
            return Err(ErrorCode::RebalanceInProgress);
        }
        Ok(())
    }

    /// A member's commit also says that it lives.
    pub(in super::super) fn heard_from(&mut self, member_id: &str, now: Moment) {
        if let Some(member) = self.members.get_mut(member_id) {
            member.heard(now.monotonic);
        }
    }
}
