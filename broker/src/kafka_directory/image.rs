//! What a metadata log comes to: topics with their partitions, settings, producer ids.
//!
//! Pure: records in, in their order. A transaction of records counts once it has ended; one that is still open at the
//! log's end never happened, as Kafka's next controller would decide.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::record::{LEADER_UNCHANGED, MetadataRecord};

pub(super) const RESOURCE_TOPIC: i8 = 2;
pub(super) const RESOURCE_BROKER: i8 = 4;

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopicImage {
    /// Its name.
    pub(super) name: String,
    /// Its partitions, by number.
    pub(super) partitions: BTreeMap<i32, PartitionImage>,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartitionImage {
    /// The nodes that hold it.
    pub(super) replicas: Vec<i32>,
    /// The last leader epoch.
    pub(super) leader_epoch: i32,
}

/// Settings, by key.
pub(super) type Settings = BTreeMap<String, String>;

/// The state of a cluster.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ClusterImage {
    /// By id.
    pub(super) topics: BTreeMap<Uuid, TopicImage>,
    /// The first producer id that was never in a block.
    pub(super) next_producer_id: i64,
    /// By kind of resource and its name.
    settings: BTreeMap<(i8, String), Settings>,
    /// Records of a transaction that has not ended.
    pending: Option<Vec<MetadataRecord>>,
    records: u64,
}

impl ClusterImage {
    /// Whether no record was applied.
    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// What is set on a resource.
    pub(super) fn settings(&self, resource_type: i8, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.settings.get(&(resource_type, name.to_owned()));
        settings.into_iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The highest leader epoch of any partition; −1 when there is none.
    pub(super) fn leader_epoch(&self) -> i32 {
        let partitions = self.topics.values().flat_map(|topic| topic.partitions.values());
        partitions.map(|partition| partition.leader_epoch).max().unwrap_or(-1)
    }

    /// Takes the next record in.
    pub(super) fn apply(&mut self, record: MetadataRecord) {
        self.records += 1;
        match record {
            MetadataRecord::BeginTransaction => self.pending = Some(Vec::new()),
            MetadataRecord::AbortTransaction => self.pending = None,
            MetadataRecord::EndTransaction => {
                self.pending.take().into_iter().flatten().for_each(|record| self.replay(record));
            }
            record => match &mut self.pending {
                Some(pending) => pending.push(record),
                None => self.replay(record),
            },
        }
    }

    fn replay(&mut self, record: MetadataRecord) {
        match record {
            MetadataRecord::Topic(topic) => {
                self.topics.insert(topic.topic_id, TopicImage { name: topic.name, partitions: BTreeMap::new() });
            }
            MetadataRecord::RemoveTopic(removed) => {
                if let Some(topic) = self.topics.remove(&removed.topic_id) {
                    self.settings.remove(&(RESOURCE_TOPIC, topic.name));
                }
            }
            MetadataRecord::Partition(partition) => {
                if let Some(topic) = self.topics.get_mut(&partition.topic_id) {
                    let (replicas, leader_epoch) = (partition.replicas, partition.leader_epoch);
                    topic.partitions.insert(partition.partition_id, PartitionImage { replicas, leader_epoch });
                }
            }
            MetadataRecord::PartitionChange(change) => {
                let topic = self.topics.get_mut(&change.topic_id);
                let Some(partition) = topic.and_then(|topic| topic.partitions.get_mut(&change.partition_id)) else {
                    return;
                };
                if change.leader != LEADER_UNCHANGED {
                    partition.leader_epoch = partition.leader_epoch.saturating_add(1);
                }
                if let Some(replicas) = change.replicas {
                    partition.replicas = replicas;
                }
            }
            MetadataRecord::Config(config) => {
                let settings = self.settings.entry((config.resource_type, config.resource_name)).or_default();
                match config.value {
                    Some(value) => settings.insert(config.name, value),
                    None => settings.remove(&config.name),
                };
            }
            MetadataRecord::ProducerIds(ids) => {
                self.next_producer_id = self.next_producer_id.max(ids.next_producer_id);
            }
            MetadataRecord::BeginTransaction
            | MetadataRecord::EndTransaction
            | MetadataRecord::AbortTransaction
            | MetadataRecord::Other => {}
        }
    }
}
