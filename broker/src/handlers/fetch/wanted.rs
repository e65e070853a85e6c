//! What a fetch asks for, partition by partition: from the request itself, or out of a session.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use pillion_wire::messages::fetch::{FetchPartition, FetchTopic, ForgottenTopic};
use uuid::Uuid;

/// A topic as a client names it: by id from version 13, by name before.
#[derive(Debug)]
pub(super) struct WantedTopic {
    /// Its id; nil where it is named.
    pub(super) id: Uuid,
    /// Its name; empty where the id stands for it.
    pub(super) name: String,
    /// Whether it is named by its id.
    pub(super) by_id: bool,
    /// The name that the id stood for when it was last found, to tell a topic made again from one never there.
    pub(super) found_as: OnceLock<Arc<str>>,
}

/// One partition to read, and from where.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) topic: Arc<WantedTopic>,
    pub(super) partition: i32,
    /// The leader epoch the client believes in; −1 when it does not say.
    pub(super) current_leader_epoch: i32,
    pub(super) fetch_offset: i64,
    /// Epoch of the last record it has; −1 when it does not say.
    pub(super) last_fetched_epoch: i32,
    /// Bytes wanted from this partition at most.
    pub(super) bytes_max: i32,
}

/// What tells one wanted partition from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct PartitionKey<'a> {
    id: Uuid,
    name: &'a str,
    partition: i32,
}

impl WantedTopic {
    pub(super) fn new(id: Uuid, name: impl Into<String>, by_id: bool) -> Self {
        Self { id, name: name.into(), by_id, found_as: OnceLock::new() }
    }

    /// Whether both name the same topic in the same way.
    pub(super) fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || (self.id == other.id && self.name == other.name)
    }
}

impl Wanted {
    fn new(topic: &Arc<WantedTopic>, asked: &FetchPartition) -> Self {
        Self {
            topic: Arc::clone(topic),
            partition: asked.partition,
            current_leader_epoch: asked.current_leader_epoch,
            fetch_offset: asked.fetch_offset,
            last_fetched_epoch: asked.last_fetched_epoch,
            bytes_max: asked.partition_max_bytes,
        }
    }

    /// What tells it from others.
    pub(super) fn key(&self) -> PartitionKey<'_> {
        PartitionKey { id: self.topic.id, name: &self.topic.name, partition: self.partition }
    }

    /// The order of keys, quicker where the topic is shared.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.topic, &other.topic) {
            self.partition.cmp(&other.partition)
        } else {
            self.key().cmp(&other.key())
        }
    }
}

/// The partitions of a request, in its order. Of one that is named twice the last counts: a request that waits
/// holds memory for each.
pub(super) fn wanted(topics: Vec<FetchTopic>, by_id: bool) -> Vec<Wanted> {
    let mut wanted = Vec::with_capacity(topics.iter().map(|topic| topic.partitions.len()).sum());
    for asked in topics {
        let topic = Arc::new(WantedTopic::new(asked.topic_id, asked.topic, by_id));
        wanted.extend(asked.partitions.iter().map(|partition| Wanted::new(&topic, partition)));
    }
    if !has_repeated(&wanted) {
        return wanted;
    }
    let mut seen = HashSet::new();
    let mut is_last: Vec<bool> = wanted.iter().rev().map(|one| seen.insert(one.key())).collect();
    wanted.retain(|_| is_last.pop() == Some(true));
    wanted
}

fn has_repeated(wanted: &[Wanted]) -> bool {
    let mut sorted: Vec<&Wanted> = wanted.iter().collect();
    sorted.sort_by(|one, other| one.compare(other));
    sorted.windows(2).any(|pair| pair[0].compare(pair[1]).is_eq())
}

/// The partitions that a request drops from its session.
pub(super) fn forgotten(topics: &[ForgottenTopic]) -> impl Iterator<Item = PartitionKey<'_>> {
    topics.iter().flat_map(|topic| {
        let key = |partition: &i32| PartitionKey { id: topic.topic_id, name: &topic.topic, partition: *partition };
        topic.partitions.iter().map(key)
    })
}
