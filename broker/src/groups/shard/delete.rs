//! DeleteGroups and OffsetDelete: what was committed goes, durably before that is answered.
//!
//! Commits of the group that are still on their way must go too, so a group's deletion waits for them; nothing new
//! joins them, for the group is dead from the start.

use std::collections::BTreeSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist, Then};
use super::super::event::{DeleteOffsets, WaiterId};
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::GroupShard;

impl GroupShard {
    /// DeleteGroups, for one group: NONE once it is gone, NON_EMPTY_GROUP or GROUP_ID_NOT_FOUND. What open transactions
    /// have pending goes too, as in Kafka.
    pub(crate) fn delete_group(
        &mut self,
        group_id: &Arc<str>,
        waiter: WaiterId,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        let Some(scheduled) = self.groups.get_mut(group_id) else {
            actions.push(Action::Answer(waiter, Answer::DeleteGroup(ErrorCode::GroupIdNotFound)));
            return;
        };
        if let Err(error) = scheduled.group.check_delete() {
            actions.push(Action::Answer(waiter, Answer::DeleteGroup(error)));
            return;
        }
        scheduled.group.bury(now);
        self.deletions.insert(Arc::clone(group_id), waiter);
        self.delete_if_settled(group_id, actions);
    }

    /// OffsetDelete: NONE for what is gone (or never was), GROUP_SUBSCRIBED_TO_TOPIC for what members read, or one error
    /// for all: GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP where it is not known what members read.
    pub(crate) fn delete_offsets(&mut self, group_id: &Arc<str>, deletion: DeleteOffsets, actions: &mut Vec<Action>) {
        let DeleteOffsets { waiter, partitions } = deletion;
        let group = self.groups.get(group_id).map(|scheduled| &scheduled.group);
        let allowed = group.ok_or(ErrorCode::GroupIdNotFound);
        let topics_read = match allowed.and_then(|group| group.check_delete_offsets().map(|()| group.topics_read())) {
            Ok(topics_read) => topics_read,
            Err(error) => {
                actions.push(Action::Answer(waiter, Answer::DeleteOffsets(Err(error))));
                return;
            }
        };
        let is_read = |topic: &str| topics_read.as_ref().is_none_or(|topics| topics.contains(topic));
        let mut records = Vec::new();
        let mut results = Vec::with_capacity(partitions.len());
        for (topic, partition) in partitions {
            if is_read(&topic) {
                results.push(ErrorCode::GroupSubscribedToTopic);
                continue;
            }
            results.push(ErrorCode::None);
            let is_known = self.offsets.get(group_id, &topic, partition).is_some()
                || self.offsets.is_pending(group_id, &topic, partition);
            if is_known || self.offsets.is_append_under_way(group_id) {
                records.push(tombstone(group_id, &topic, partition));
            }
        }
        if records.is_empty() {
            actions.push(Action::Answer(waiter, Answer::DeleteOffsets(Ok(results))));
            return;
        }
        self.offsets.append_begun(group_id);
        let then = Then::DeleteOffsets { waiter, results };
        actions.push(Action::Persist(Persist::new(group_id, records, then)));
    }

    /// An append of a group's offsets has ended. If that was the last, a deletion that waited for it goes on.
    pub(super) fn append_ended(&mut self, group_id: &Arc<str>, actions: &mut Vec<Action>) {
        self.offsets.append_ended(group_id);
        self.delete_if_settled(group_id, actions);
    }

    fn delete_if_settled(&mut self, group_id: &Arc<str>, actions: &mut Vec<Action>) {
        if self.offsets.is_append_under_way(group_id) {
            return;
        }
        let Some(waiter) = self.deletions.remove(group_id) else { return };
        let partitions: BTreeSet<_> = self.offsets.partitions_of_group(group_id).collect();
        let mut records: Vec<GroupRecord> =
            partitions.into_iter().map(|(topic, partition)| tombstone(group_id, topic, partition)).collect();
        tracing::info!(group = &**group_id, offsets = records.len(), "group is deleted");
        records.push(GroupRecord::Metadata { group_id: Arc::clone(group_id), metadata: None });
        self.offsets.append_begun(group_id);
        actions.push(Action::Persist(Persist::new(group_id, records, Then::DeleteGroup(waiter))));
    }
}

/// The record that deletes a committed offset.
pub(super) fn tombstone(group_id: &Arc<str>, topic: &Arc<str>, partition: i32) -> GroupRecord {
    GroupRecord::Offset { group_id: Arc::clone(group_id), topic: Arc::clone(topic), partition, committed: None }
}
