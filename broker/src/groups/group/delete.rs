//! DeleteGroups and OffsetDelete: whether the group stands in their way.

use std::collections::BTreeSet;

use pillion_wire::ErrorCode;

use super::{Group, GroupState};

/// The protocol type of consumer groups; the broker can read the subscriptions of those.
pub(super) const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

impl Group {
    /// Only a group nobody is in can be deleted.
    pub(in super::super) fn check_delete(&self) -> Result<(), ErrorCode> {
        match self.state {
            GroupState::Dead => Err(ErrorCode::GroupIdNotFound),
            GroupState::Empty => Ok(()),
            _ => Err(ErrorCode::NonEmptyGroup),
        }
    }

    /// While members are at work only consumers' offsets can be deleted, for only of those it is known what they read.
    pub(in super::super) fn check_delete_offsets(&self) -> Result<(), ErrorCode> {
        if self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE) && self.state != GroupState::Dead {
            return Ok(());
        }
        self.check_delete()
    }

    /// The topics whose offsets members need; `None` where that cannot be known, so that it may be any.
    pub(in super::super) fn topics_read(&self) -> Option<BTreeSet<String>> {
        if self.members.is_empty() || self.protocol_type.as_deref() != Some(CONSUMER_PROTOCOL_TYPE) {
            return Some(BTreeSet::new());
        }
        self.topics_in_use()
    }
}
