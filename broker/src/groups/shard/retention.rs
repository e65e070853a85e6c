//! `offsets.retention.minutes`: old offsets go, and with its last offset an empty group.

use std::sync::Arc;

use super::super::action::{Action, Persist, Then};
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::GroupShard;
use super::delete::tombstone;

/// A wall clock that went this much further than the monotonic one has been set: old offsets may only look old.
const CLOCK_JUMP_MS: u64 = 60 * 60 * 1000;

impl GroupShard {
    /// Looks through all groups once; to be called every `offsets.retention.check.interval.ms`. Does nothing in a
    /// pass before which the wall clock jumped by more than an hour.
    pub(crate) fn expire_offsets(&mut self, now: Moment, actions: &mut Vec<Action>) {
        let before = self.retention_checked.replace(now);
        if before.is_some_and(|before| has_jumped(before, now)) {
            tracing::warn!("the wall clock jumped by more than an hour: no committed offset is expired in this pass");
            return;
        }
        let group_ids: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        for group_id in group_ids {
            self.expire_group(&group_id, now, actions);
        }
    }

    /// A topic is deleted: its offsets must not be those of a later topic of the same name. Commits of the topic that
    /// are still on their way are to be durable before this is called.
    pub(crate) fn forget_topic(&mut self, topic: &str, actions: &mut Vec<Action>) {
        for (group_id, topic, partitions) in self.offsets.of_topic(topic) {
            let records = partitions.into_iter().map(|partition| tombstone(&group_id, &topic, partition)).collect();
            self.offsets.append_begun(&group_id);
            actions.push(Action::Persist(Persist::new(&group_id, records, Then::Forget)));
        }
    }

    fn expire_group(&mut self, group_id: &Arc<str>, now: Moment, actions: &mut Vec<Action>) {
        // What is on its way may renew what looks old here. What an open transaction may renew stays as well.
        if self.offsets.is_append_under_way(group_id) {
            return;
        }
        let Some(scheduled) = self.groups.get_mut(group_id) else { return };
        let retention = scheduled.group.retention();
        let retention_ms = i64::try_from(self.limits.offsets_retention.as_millis()).unwrap_or(i64::MAX);
        let mut records = Vec::new();
        let mut are_all_over = !self.offsets.are_pending(group_id);
        for (topic, partitions) in self.offsets.of_group(group_id) {
            for (partition, placed) in partitions {
                let is_pending = self.offsets.is_pending(group_id, topic, *partition);
                if !is_pending && retention.is_over(topic, &placed.committed, now.wall_ms, retention_ms) {
                    records.push(tombstone(group_id, topic, *partition));
                } else {
                    are_all_over = false;
                }
            }
        }
        if are_all_over && scheduled.group.is_vacant() {
            scheduled.group.bury(now);
            records.push(GroupRecord::Metadata { group_id: Arc::clone(group_id), metadata: None });
        }
        if records.is_empty() {
            return;
        }
        tracing::info!(group = &**group_id, records = records.len(), "committed offsets expired");
        self.offsets.append_begun(group_id);
        actions.push(Action::Persist(Persist::new(group_id, records, Then::Forget)));
    }
}

fn has_jumped(before: Moment, now: Moment) -> bool {
    let passed = i64::try_from(now.monotonic.0.saturating_sub(before.monotonic.0)).unwrap_or(i64::MAX);
    let expected = before.wall_ms.saturating_add(passed);
    now.wall_ms.abs_diff(expected) > CLOCK_JUMP_MS
}
