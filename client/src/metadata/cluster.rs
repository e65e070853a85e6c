//! The cluster as Metadata answers describe it, merged from answer to answer. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::MetadataResponse;
use pillion_wire::messages::metadata::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use uuid::Uuid;

/// A broker and where it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    pub(crate) id: i32,
    /// `host:port`, an IPv6 host in brackets.
    pub(crate) address: Arc<str>,
}

/// A partition and who leads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Partition {
    /// The leader's broker id; `None` while there is none.
    pub(crate) leader: Option<i32>,
    /// −1 when unknown.
    pub(crate) leader_epoch: i32,
}

/// A topic in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) name: Arc<str>,
    /// Nil when the broker has none.
    pub(crate) id: Uuid,
    pub(crate) error: ErrorCode,
    /// By partition number, without gaps.
    pub(crate) partitions: Vec<Partition>,
}

impl Topic {
    /// Whether its partitions are known.
    pub(crate) fn is_usable(&self) -> bool {
        self.error.is_ok() && !self.partitions.is_empty()
    }
}

/// What is known of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) brokers: BTreeMap<i32, Broker>,
    pub(crate) controller: Option<i32>,
    topics: HashMap<Arc<str>, Arc<Topic>>,
}

impl Cluster {
    /// A topic, if it was asked for and answered.
    pub(crate) fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(name)
    }

    /// The leader of a partition and its epoch, if both leader and its address are known.
    pub(crate) fn leader(&self, topic: &str, partition: i32) -> Option<(i32, i32)> {
        let topic = self.topics.get(topic).filter(|topic| topic.error.is_ok())?;
        let partition = topic.partitions.get(usize::try_from(partition).ok()?)?;
        let leader = partition.leader.filter(|leader| self.brokers.contains_key(leader))?;
        Some((leader, partition.leader_epoch))
    }

    /// What is known after an answer: its brokers, its topics, and from before the topics that `keep` names and the
    /// answer leaves out. Of a partition with an older leader epoch than known the known leader stays: the answering
    /// broker has not caught up (KIP-320).
    pub(crate) fn merge(&self, response: MetadataResponse, keep: impl Fn(&str) -> bool) -> Self {
        let mut topics: HashMap<_, _> = self
            .topics
            .iter()
            .filter(|(name, _)| keep(name))
            .map(|(name, topic)| (name.clone(), topic.clone()))
            .collect();
        for answered in response.topics {
            let Some(name) = answered.name.as_deref().map(Arc::<str>::from) else { continue };
            let topic = read_topic(name.clone(), answered, self.topics.get(&name));
            topics.insert(name, Arc::new(topic));
        }
        Self {
            brokers: response.brokers.iter().map(|broker| (broker.node_id, read_broker(broker))).collect(),
            controller: (response.controller_id >= 0).then_some(response.controller_id),
            topics,
        }
    }
}

fn read_broker(broker: &MetadataResponseBroker) -> Broker {
    Broker { id: broker.node_id, address: broker_address(&broker.host, broker.port) }
}

/// `host:port`, an IPv6 host in brackets.
pub(crate) fn broker_address(host: &str, port: i32) -> Arc<str> {
    if host.contains(':') { format!("[{host}]:{port}").into() } else { format!("{host}:{port}").into() }
}

fn read_topic(name: Arc<str>, answered: MetadataResponseTopic, known: Option<&Arc<Topic>>) -> Topic {
    let known = known.filter(|known| known.id == answered.topic_id);
    let mut partitions = answered.partitions;
    partitions.sort_unstable_by_key(|partition| partition.partition_index);
    // A gap would shift every partition behind it, so what lies behind one is left out.
    let partitions = (0..)
        .zip(partitions)
        .take_while(|(index, partition)| *index == partition.partition_index)
        .map(|(index, partition)| {
            let before = known.and_then(|known| known.partitions.get(index as usize));
            newer(read_partition(&partition), before.copied())
        })
        .collect();
    Topic { name, id: answered.topic_id, error: ErrorCode::from_code(answered.error_code), partitions }
}

fn read_partition(partition: &MetadataResponsePartition) -> Partition {
    Partition {
        leader: (partition.leader_id >= 0).then_some(partition.leader_id),
        leader_epoch: partition.leader_epoch,
    }
}

fn newer(answered: Partition, known: Option<Partition>) -> Partition {
    match known {
        Some(known) if answered.leader_epoch >= 0 && answered.leader_epoch < known.leader_epoch => known,
        _ => answered,
    }
}
