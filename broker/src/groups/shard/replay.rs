//! The shard as the log tells it: records in order, then the clocks are started.

use std::sync::Arc;

use super::super::action::Action;
use super::super::event::TransactionEnd;
use super::super::group::Group;
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::GroupShard;

impl GroupShard {
    /// Applies one record: where it is in the log, and which producer's transaction it is part of, if any. The
    /// partition's records and markers are to come in offset order, before any event.
    pub(crate) fn replay(&mut self, record: GroupRecord, record_offset: i64, producer_id: Option<i64>, now: Moment) {
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
                let key = (group_id, topic, partition);
                match producer_id {
                    Some(producer_id) => self.offsets.apply_pending(producer_id, key, committed, record_offset),
                    None => self.offsets.apply(key, committed, record_offset),
                }
            }
        }
    }

    /// Applies a marker: a producer's transaction ends.
    pub(crate) fn replay_marker(&mut self, producer_id: i64, end: TransactionEnd) {
        self.offsets.transaction_ended(producer_id, end);
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
