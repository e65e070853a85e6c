//! ListGroups and DescribeGroups.
//!
//! Invariant: a group that only exists because of something on its way into the log is not shown.

use super::super::description::{GroupDescription, ListedGroup};
use super::super::group::{Group, GroupState};
use super::GroupShard;

impl GroupShard {
    /// All groups, in no order; without those being deleted.
    pub(crate) fn list(&self) -> Vec<ListedGroup> {
        let groups = self.groups.iter().filter(|(group_id, scheduled)| self.is_shown(group_id, &scheduled.group));
        groups.map(|(_, scheduled)| scheduled.group.list()).collect()
    }

    /// `None` for a group that does not exist.
    pub(crate) fn describe(&self, group_id: &str) -> Option<GroupDescription> {
        let group = self.groups.get(group_id).map(|scheduled| &scheduled.group)?;
        self.is_shown(group_id, group).then(|| group.describe())
    }

    fn is_shown(&self, group_id: &str, group: &Group) -> bool {
        match group.state() {
            GroupState::Dead => false,
            GroupState::Empty => !group.is_unwritten() || self.offsets.are_durable(group_id),
            _ => true,
        }
    }
}
