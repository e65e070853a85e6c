//! OffsetFetch: what is durable of a group's offsets.

use std::sync::Arc;

use super::super::offsets::PlacedOffset;
use super::super::record::CommittedOffset;
use super::GroupShard;

/// One topic of a group's committed offsets: its name, and partition and offset in order of partition.
pub(crate) type FetchedTopic<'a> = (&'a Arc<str>, Vec<(i32, &'a CommittedOffset)>);

/// A topic a group has committed offsets of: its name, and partition and offset in order of partition.
pub(crate) type CommittedTopic = (Arc<str>, Vec<(i32, i64)>);

impl GroupShard {
    /// `None` for what was never committed, which is answered as offset −1.
    pub(crate) fn committed(&self, group_id: &str, topic: &str, partition: i32) -> Option<&CommittedOffset> {
        self.offsets.get(group_id, topic, partition)
    }

    /// Everything a group has committed, in order of topic: for requests that name no topics.
    pub(crate) fn all_committed(&self, group_id: &str) -> Vec<FetchedTopic<'_>> {
        self.offsets
            .of_group(group_id)
            .map(|(topic, partitions)| {
                (topic, partitions.iter().map(|(partition, placed)| (*partition, &placed.committed)).collect())
            })
            .collect()
    }

    /// What a group has committed of its first `topics_max` topics by name: partition and offset.
    pub(crate) fn committed_by_topic(&self, group_id: &str, topics_max: usize) -> Vec<CommittedTopic> {
        let of_topic = |(topic, partitions): (&Arc<str>, &std::collections::BTreeMap<i32, PlacedOffset>)| {
            let offset = |(partition, placed): (&i32, &PlacedOffset)| (*partition, placed.committed.offset);
            (Arc::clone(topic), partitions.iter().map(offset).collect())
        };
        self.offsets.of_group(group_id).take(topics_max).map(of_topic).collect()
    }

    /// Whether commits of this group are on their way: a fetch that requires stable offsets waits for them.
    pub(crate) fn is_commit_under_way(&self, group_id: &str) -> bool {
        self.offsets.is_append_under_way(group_id)
    }
}
