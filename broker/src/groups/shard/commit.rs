//! OffsetCommit and TxnOffsetCommit: checked against the group now; visible once durable, or once their transaction is
//! committed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use pillion_wire::ErrorCode;

use super::super::action::{Action, Answer, Persist, Then};
use super::super::event::Commit;
use super::super::group::{Group, GroupState};
use super::super::limits::{GROUPS_PER_SHARD_MAX, TEXT_BYTES_MAX};
use super::super::moment::Moment;
use super::super::record::GroupRecord;
use super::GroupShard;

impl GroupShard {
    /// Answers each partition with NONE once its offset is durable, OFFSET_METADATA_TOO_LARGE, or, all alike, why
    /// the sender may not commit. Of a partition that is named again the last offset is committed, as Kafka does, and it
    /// alone is written: a record has the group's whole name in it.
    pub(crate) fn commit(&mut self, group_id: &Arc<str>, commit: Commit, now: Moment, actions: &mut Vec<Action>) {
        if let Err(error) = self.accept_commit(group_id, &commit, now) {
            let results = vec![error; commit.offsets.len()];
            actions.push(Action::Answer(commit.waiter, Answer::Commit(results)));
            return;
        }
        let mut records = Vec::with_capacity(commit.offsets.len());
        let mut results = Vec::with_capacity(commit.offsets.len());
        let mut places = HashMap::with_capacity(commit.offsets.len());
        for offset in commit.offsets {
            if is_too_long(&offset.committed.metadata, self.limits.offset_metadata_max) {
                results.push(ErrorCode::OffsetMetadataTooLarge);
                continue;
            }
            results.push(ErrorCode::None);
            let mut committed = offset.committed;
            committed.commit_timestamp_ms = now.wall_ms;
            let place = places.entry((Arc::clone(&offset.topic), offset.partition));
            let record = GroupRecord::Offset {
                group_id: Arc::clone(group_id),
                topic: offset.topic,
                partition: offset.partition,
                committed: Some(committed),
            };
            match place {
                Entry::Vacant(place) => {
                    place.insert(records.len());
                    records.push(record);
                }
                Entry::Occupied(place) => records[*place.get()] = record,
            }
        }
        if records.is_empty() {
            actions.push(Action::Answer(commit.waiter, Answer::Commit(results)));
            return;
        }
        if !self.groups.contains_key(group_id) {
            // A consumer without membership: its group holds nothing but offsets.
            self.add_group(Group::new(Arc::clone(group_id), now), group_id);
        }
        self.offsets.append_begun(group_id);
        if let Some(producer) = commit.producer {
            self.producers_under_way.begun(producer.id);
        }
        let then = Then::Commit { waiter: commit.waiter, results };
        let persist = Persist { producer: commit.producer, ..Persist::new(group_id, records, then) };
        actions.push(Action::Persist(persist));
    }

    fn accept_commit(&mut self, group_id: &Arc<str>, commit: &Commit, now: Moment) -> Result<(), ErrorCode> {
        if group_id.len() > TEXT_BYTES_MAX {
            return Err(ErrorCode::InvalidGroupId);
        }
        let is_full = self.groups.len() >= GROUPS_PER_SHARD_MAX;
        let Some(scheduled) = self.groups.get_mut(group_id) else {
            return match commit.generation {
                ..0 if is_full => Err(ErrorCode::CoordinatorNotAvailable),
                ..0 => Ok(()),
                _ if commit.knows_group_id_not_found => Err(ErrorCode::GroupIdNotFound),
                _ => Err(ErrorCode::IllegalGeneration),
            };
        };
        scheduled.group.check_commit(commit)?;
        let keeps_session = matches!(scheduled.group.state(), GroupState::Stable | GroupState::PreparingRebalance);
        if keeps_session && commit.producer.is_none() {
            scheduled.group.heard_from(&commit.member_id, now);
        }
        Ok(())
    }

    /// Applies durable records, the first of which is at `base_offset` of the log: offsets become visible.
    pub(super) fn apply_records(&mut self, records: Vec<GroupRecord>, base_offset: i64) {
        for (record_offset, record) in (base_offset..).zip(records) {
            match record {
                GroupRecord::Offset { group_id, topic, partition, committed } => {
                    self.offsets.apply((group_id, topic, partition), committed, record_offset);
                }
                GroupRecord::Metadata { group_id, metadata: None } => self.remove_group(&group_id),
                GroupRecord::Metadata { metadata: Some(_), .. } => {}
            }
        }
    }

    /// Applies durable records of a producer's transaction: they are pending until it ends, which it may have.
    pub(super) fn apply_pending_records(&mut self, records: Vec<GroupRecord>, base_offset: i64, producer_id: i64) {
        for (record_offset, record) in (base_offset..).zip(records) {
            if let GroupRecord::Offset { group_id, topic, partition, committed } = record {
                self.offsets.apply_pending(producer_id, (group_id, topic, partition), committed, record_offset);
            }
        }
        if let Some(end) = self.producers_under_way.ended(producer_id, Some(base_offset)) {
            self.offsets.transaction_ended(producer_id, end);
        }
    }
}

/// Kafka counts UTF-16 units; a text has at most as many of those as bytes. Whatever the limit, the record's length
/// field must hold the bytes.
fn is_too_long(text: &str, limit: usize) -> bool {
    text.len() > i16::MAX as usize || (text.len() > limit && text.encode_utf16().count() > limit)
}
