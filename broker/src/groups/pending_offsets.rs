//! Offsets committed inside transactions that have not ended: durable, but to be seen only with the commit (KIP-98).
//!
//! Invariant: the two maps tell of the same entries, and neither holds an empty one, so that what is asked most often,
//! whether a partition is pending, is one look-up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::offsets::PlacedOffset;

/// A group's partition: group, topic, partition.
pub(super) type GroupPartition = (Arc<str>, Arc<str>, i32);

/// What each producer has pending, for the groups of one shard.
#[derive(Debug, Default)]
pub(super) struct PendingOffsets {
    by_group: HashMap<Arc<str>, Topics>,
    by_producer: HashMap<i64, BTreeSet<GroupPartition>>,
}

/// A group's pending offsets, by topic and partition.
type Topics = BTreeMap<Arc<str>, BTreeMap<i32, ByProducer>>;

/// One partition's pending offsets, by producer id.
type ByProducer = BTreeMap<i64, PlacedOffset>;

impl PendingOffsets {
    /// A producer has committed an offset in its transaction; of several of one partition the last counts.
    pub(super) fn add(&mut self, producer_id: i64, (group_id, topic, partition): GroupPartition, offset: PlacedOffset) {
        let topics = self.by_group.entry(Arc::clone(&group_id)).or_default();
        let partitions = topics.entry(Arc::clone(&topic)).or_default();
        partitions.entry(partition).or_default().insert(producer_id, offset);
        self.by_producer.entry(producer_id).or_default().insert((group_id, topic, partition));
    }

    /// A producer's transaction has ended with a marker at this offset: what was pending of it is not any more.
    pub(super) fn take(&mut self, producer_id: i64, marker_offset: i64) -> Vec<(GroupPartition, PlacedOffset)> {
        let keys = self.by_producer.remove(&producer_id).unwrap_or_default();
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            match self.remove(producer_id, &key) {
                Some(offset) if offset.record_offset < marker_offset => taken.push((key, offset)),
                // Of the transaction after that.
                Some(offset) => self.add(producer_id, key, offset),
                None => {}
            }
        }
        taken
    }

    /// The partition's offsets are deleted, those pending too.
    pub(super) fn forget(&mut self, group_id: &Arc<str>, topic: &Arc<str>, partition: i32) {
        let key = (Arc::clone(group_id), Arc::clone(topic), partition);
        for producer_id in self.producers(group_id, topic, partition) {
            self.remove(producer_id, &key);
            if let Some(keys) = self.by_producer.get_mut(&producer_id) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.by_producer.remove(&producer_id);
                }
            }
        }
    }

    /// Whether an open transaction may yet change the partition's offset.
    pub(super) fn is_pending(&self, group_id: &str, topic: &str, partition: i32) -> bool {
        self.by_group
            .get(group_id)
            .and_then(|topics| topics.get(topic))
            .is_some_and(|partitions| partitions.contains_key(&partition))
    }

    /// Whether anything of a group is pending.
    pub(super) fn knows(&self, group_id: &str) -> bool {
        self.by_group.contains_key(group_id)
    }

    /// The partitions of a group that are pending, in order of topic and partition.
    pub(super) fn of_group(&self, group_id: &str) -> impl Iterator<Item = (&Arc<str>, i32)> {
        let topics = self.by_group.get(group_id).into_iter().flatten();
        topics.flat_map(|(topic, partitions)| partitions.keys().map(move |partition| (topic, *partition)))
    }

    /// Every group in which partitions of a topic are pending, with the topic and these.
    pub(super) fn of_topic(&self, topic: &str) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, Vec<i32>)> {
        self.by_group.iter().filter_map(move |(group_id, topics)| {
            let (topic, partitions) = topics.get_key_value(topic)?;
            Some((group_id, topic, partitions.keys().copied().collect()))
        })
    }

    fn producers(&self, group_id: &str, topic: &str, partition: i32) -> Vec<i64> {
        let partitions = self.by_group.get(group_id).and_then(|topics| topics.get(topic));
        let pending = partitions.and_then(|partitions| partitions.get(&partition));
        pending.into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// Out of the groups' map; the producers' is the caller's.
    fn remove(&mut self, producer_id: i64, (group_id, topic, partition): &GroupPartition) -> Option<PlacedOffset> {
        let topics = self.by_group.get_mut(group_id)?;
        let partitions = topics.get_mut(topic)?;
        let pending = partitions.get_mut(partition)?;
        let offset = pending.remove(&producer_id);
        if pending.is_empty() {
            partitions.remove(partition);
        }
        if partitions.is_empty() {
            topics.remove(topic);
        }
        if topics.is_empty() {
            self.by_group.remove(group_id);
        }
        offset
    }
}
