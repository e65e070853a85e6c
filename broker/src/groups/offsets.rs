//! Committed offsets of the groups of one partition of `__consumer_offsets`.
//!
//! Invariant: what is here is durable. A commit on its way into the log is only counted, one inside an open transaction
//! is kept aside (`pending_offsets`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::event::TransactionEnd;
use super::pending_offsets::{GroupPartition, PendingOffsets};
use super::record::CommittedOffset;

/// All committed offsets of one shard.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    by_group: HashMap<Arc<str>, GroupOffsets>,
    pending: PendingOffsets,
}

/// Those of one group, by topic and partition.
#[derive(Debug, Default)]
struct GroupOffsets {
    topics: BTreeMap<Arc<str>, BTreeMap<i32, PlacedOffset>>,
    /// Appends of this group's offsets that are not durable yet.
    in_flight: usize,
}

/// A committed offset and where the log has it, for of two the later one counts.
#[derive(Debug)]
pub(super) struct PlacedOffset {
    pub(super) committed: CommittedOffset,
    /// Offset of its record in the partition of `__consumer_offsets`.
    pub(super) record_offset: i64,
}

impl Offsets {
    /// `None` for what was never committed.
    pub(super) fn get(&self, group_id: &str, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.by_group.get(group_id)?.topics.get(topic)?.get(&partition).map(|placed| &placed.committed)
    }

    /// Everything a group has committed, in order of topic and partition.
    pub(super) fn of_group(&self, group_id: &str) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<i32, PlacedOffset>)> {
        self.by_group.get(group_id).into_iter().flat_map(|group| &group.topics)
    }

    /// The partitions of which a group has an offset, committed or pending; some may come twice.
    pub(super) fn partitions_of_group(&self, group_id: &str) -> impl Iterator<Item = (&Arc<str>, i32)> {
        let committed = self.of_group(group_id);
        committed
            .flat_map(|(topic, partitions)| partitions.keys().map(move |partition| (topic, *partition)))
            .chain(self.pending.of_group(group_id))
    }

    /// Every group that has offsets of a topic, committed or pending, with the topic and the partitions; a group with
    /// both comes twice.
    pub(super) fn of_topic(&self, topic: &str) -> Vec<(Arc<str>, Arc<str>, Vec<i32>)> {
        let committed = self.by_group.iter().filter_map(|(group_id, group)| {
            let (topic, partitions) = group.topics.get_key_value(topic)?;
            Some((group_id, topic, partitions.keys().copied().collect()))
        });
        committed
            .chain(self.pending.of_topic(topic))
            .map(|(group_id, topic, partitions)| (Arc::clone(group_id), Arc::clone(topic), partitions))
            .collect()
    }

    /// Whether a group has committed anything, inside a transaction or not, or is about to.
    pub(super) fn knows(&self, group_id: &str) -> bool {
        self.by_group.contains_key(group_id) || self.pending.knows(group_id)
    }

    /// Whether the log has offsets of a group, be they of an open transaction.
    pub(super) fn are_durable(&self, group_id: &str) -> bool {
        self.by_group.get(group_id).is_some_and(|group| !group.topics.is_empty()) || self.pending.knows(group_id)
    }

    /// Whether an open transaction may yet change the offset of a partition.
    pub(super) fn is_pending(&self, group_id: &str, topic: &str, partition: i32) -> bool {
        self.pending.is_pending(group_id, topic, partition)
    }

    /// Whether an open transaction may yet change any of a group's offsets.
    pub(super) fn are_pending(&self, group_id: &str) -> bool {
        self.pending.knows(group_id)
    }

    /// Applies a record that is at `record_offset` of the log: sets an offset, or forgets it and what is pending of it.
    pub(super) fn apply(
        &mut self,
        (group_id, topic, partition): GroupPartition,
        committed: Option<CommittedOffset>,
        record_offset: i64,
    ) {
        match committed {
            Some(committed) => self.set(group_id, topic, partition, PlacedOffset { committed, record_offset }),
            None => {
                self.pending.forget(&group_id, &topic, partition);
                self.forget(&group_id, &topic, partition);
            }
        }
    }

    /// Applies a record of a producer's transaction, which waits for its end. A deletion is no part of one.
    pub(super) fn apply_pending(
        &mut self,
        producer_id: i64,
        key: GroupPartition,
        committed: Option<CommittedOffset>,
        record_offset: i64,
    ) {
        match committed {
            Some(committed) => self.pending.add(producer_id, key, PlacedOffset { committed, record_offset }),
            None => self.apply(key, None, record_offset),
        }
    }

    /// A producer's transaction has ended. Committed, its offsets are set, but where one was committed behind it in the
    /// log that one stands, as in Kafka. Answers the groups concerned, some perhaps more than once.
    pub(super) fn transaction_ended(&mut self, producer_id: i64, end: TransactionEnd) -> Vec<Arc<str>> {
        let mut group_ids = Vec::new();
        for ((group_id, topic, partition), offset) in self.pending.take(producer_id, end.marker_offset) {
            group_ids.push(Arc::clone(&group_id));
            let group = self.by_group.get(&group_id);
            let current = group.and_then(|group| group.topics.get(&topic)?.get(&partition));
            let is_later = current.is_none_or(|current| offset.record_offset > current.record_offset);
            if end.is_committed && is_later {
                self.set(group_id, topic, partition, offset);
            }
        }
        group_ids
    }

    /// An append of this group's offsets is under way.
    pub(super) fn append_begun(&mut self, group_id: &Arc<str>) {
        self.by_group.entry(Arc::clone(group_id)).or_default().in_flight += 1;
    }

    /// It is durable and applied, or has failed.
    pub(super) fn append_ended(&mut self, group_id: &str) {
        if let Some(group) = self.by_group.get_mut(group_id) {
            group.in_flight = group.in_flight.saturating_sub(1);
        }
        self.drop_if_idle(group_id);
    }

    /// Whether some of a group's offsets are on their way, so that what is here may soon be old.
    pub(super) fn is_append_under_way(&self, group_id: &str) -> bool {
        self.by_group.get(group_id).is_some_and(|group| group.in_flight > 0)
    }

    fn set(&mut self, group_id: Arc<str>, topic: Arc<str>, partition: i32, offset: PlacedOffset) {
        let group = self.by_group.entry(group_id).or_default();
        group.topics.entry(topic).or_default().insert(partition, offset);
    }

    fn forget(&mut self, group_id: &str, topic: &str, partition: i32) {
        let Some(group) = self.by_group.get_mut(group_id) else { return };
        let Some(partitions) = group.topics.get_mut(topic) else { return };
        partitions.remove(&partition);
        if partitions.is_empty() {
            group.topics.remove(topic);
        }
        self.drop_if_idle(group_id);
    }

    fn drop_if_idle(&mut self, group_id: &str) {
        if self.by_group.get(group_id).is_some_and(|group| group.topics.is_empty() && group.in_flight == 0) {
            self.by_group.remove(group_id);
        }
    }
}
