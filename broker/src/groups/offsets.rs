//! Committed offsets of the groups of one partition of `__consumer_offsets`.
//!
//! Invariant: what is here is durable. A commit on its way into the log is only counted.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::record::CommittedOffset;

/// All committed offsets of one shard.
#[derive(Debug, Default)]
pub(super) struct Offsets {
    by_group: HashMap<Arc<str>, GroupOffsets>,
}

/// Those of one group, by topic and partition.
#[derive(Debug, Default)]
struct GroupOffsets {
    topics: BTreeMap<Arc<str>, BTreeMap<i32, CommittedOffset>>,
    /// Appends of this group's offsets that are not durable yet.
    in_flight: usize,
}

impl Offsets {
    /// `None` for what was never committed.
    pub(super) fn get(&self, group_id: &str, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.by_group.get(group_id)?.topics.get(topic)?.get(&partition)
    }

    /// Everything a group has committed, in order of topic and partition.
    pub(super) fn of_group(
        &self,
        group_id: &str,
    ) -> impl Iterator<Item = (&Arc<str>, &BTreeMap<i32, CommittedOffset>)> {
        self.by_group.get(group_id).into_iter().flat_map(|group| &group.topics)
    }

    /// Every group that has committed offsets of a topic, with the topic and the partitions.
    pub(super) fn of_topic(&self, topic: &str) -> Vec<(Arc<str>, Arc<str>, Vec<i32>)> {
        self.by_group
            .iter()
            .filter_map(|(group_id, group)| {
                let (topic, partitions) = group.topics.get_key_value(topic)?;
                Some((Arc::clone(group_id), Arc::clone(topic), partitions.keys().copied().collect()))
            })
            .collect()
    }

    /// Whether a group has committed anything, or is about to.
    pub(super) fn knows(&self, group_id: &str) -> bool {
        self.by_group.contains_key(group_id)
    }

    /// Applies a record: sets an offset, or forgets it.
    pub(super) fn apply(
        &mut self,
        group_id: &Arc<str>,
        topic: &Arc<str>,
        partition: i32,
        committed: Option<CommittedOffset>,
    ) {
        match committed {
            Some(committed) => {
                let group = self.by_group.entry(Arc::clone(group_id)).or_default();
                let partitions = match group.topics.get_mut(topic) {
                    Some(partitions) => partitions,
                    None => group.topics.entry(Arc::clone(topic)).or_default(),
                };
                partitions.insert(partition, committed);
            }
            None => self.forget(group_id, topic, partition),
        }
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
