//! The shard as the log tells it: records in order, then the clocks are started.

use std::sync::Arc;

use super::super::action::Action;
use super::super::group::Group;
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::GroupShard;

impl GroupShard {
    /// Applies one record. The partition's records are to come in offset order, before any event.
    pub(crate) fn replay(&mut self, record: GroupRecord, now: Moment) {
        match record {
            GroupRecord::Metadata { group_id, metadata: Some(metadata) } => {
                let group = Group::from_metadata(Arc::clone(&group_id), metadata, now);
                self.add_group(group, &group_id);
            }
            GroupRecord::Metadata { group_id, metadata: None } => self.remove_group(&group_id),
            GroupRecord::Offset { group_id, topic, partition, committed } => {
                if committed.is_some() && !self.groups.contains_key(&group_id) {
                    self.add_group(Group::new(Arc::clone(&group_id), now), &group_id);
                }
                self.offsets.apply(&group_id, &topic, partition, committed);
            }
        }
    }

    /// All records are applied: sessions begin now.
    pub(crate) fn loaded(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let group_ids: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        for group_id in group_ids {
            self.with_group(&group_id, now, actions, Group::loaded);
        }
    }

    pub(super) fn remove_group(&mut self, group_id: &Arc<str>) {
        if let Some(scheduled) = self.groups.remove(group_id)
            && let Some(wake_at) = scheduled.wake_at
        {
            self.schedule.remove(&(wake_at, Arc::clone(group_id)));
        }
    }
}
