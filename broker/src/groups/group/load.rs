//! A group read back from the log.
//!
//! A stable group stays stable over a restart: its members go on with their heartbeats, none is asked to rejoin.

use std::sync::Arc;

use super::super::member::Member;
use super::super::moment::Moment;
use super::super::record::GroupMetadata;
use super::{Group, GroupState, Turn};

impl Group {
    /// The group a record describes. Records are bytes from outside: a member that occurs twice is taken once.
    pub(in super::super) fn from_metadata(id: Arc<str>, metadata: GroupMetadata, now: Moment) -> Self {
        let mut group = Self::new(id, now);
        group.generation = metadata.generation;
        group.state_since_ms = metadata.state_since_ms;
        group.protocol_type = Some(metadata.protocol_type).filter(|protocol_type| !protocol_type.is_empty());
        group.protocol_name = metadata.protocol_name;
        group.leader = metadata.leader;
        let protocol_name = group.protocol_name.clone().unwrap_or_else(|| Arc::from(""));
        for member in metadata.members {
            let instance_id = member.group_instance_id.as_deref();
            let is_taken = group.members.contains(&member.member_id)
                || instance_id.is_some_and(|instance_id| group.members.static_member(instance_id).is_some());
            if !is_taken {
                group.members.insert(Member::loaded(member, &protocol_name, now.monotonic));
            }
        }
        if !group.members.is_empty() {
            group.state = GroupState::Stable;
        }
        group
    }

    /// The log is read: sessions begin now, and a group that has outgrown a lowered `group.max.size` rebalances.
    pub(in super::super) fn loaded(&mut self, turn: &mut Turn<'_>) {
        for member in self.members.iter_mut() {
            member.restart_session(turn.now.monotonic);
        }
        if self.members.len() > turn.limits.group_size_max {
            self.prepare_or_complete("the group is larger than group.max.size", turn);
        }
    }
}
