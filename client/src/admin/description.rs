//! What administrative requests take and answer.

use uuid::Uuid;

use super::AdminError;
use crate::group::TopicPartition;

/// A topic to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; −1 leaves it to the broker.
    pub partitions: i32,
    /// How many replicas; −1 leaves it to the broker.
    pub replication_factor: i16,
    /// Settings that differ from the broker's defaults, such as (`cleanup.policy`, `compact`).
    pub configs: Vec<(String, String)>,
}

impl NewTopic {
    /// A topic with the broker's defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), partitions: -1, replication_factor: -1, configs: Vec::new() }
    }
}

/// What became of one topic of a request.
#[derive(Debug, Clone)]
pub struct TopicOutcome {
    /// The topic's name.
    pub name: String,
    /// Success, or why not.
    pub result: Result<(), AdminError>,
}

/// A topic in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicListing {
    /// Its name.
    pub name: String,
    /// Its id; nil when the broker has none.
    pub topic_id: Uuid,
    /// Whether it is the broker's own, such as `__consumer_offsets`.
    pub is_internal: bool,
    /// How many partitions it has.
    pub partitions: i32,
}

/// A topic with its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// Its id; nil when the broker has none.
    pub topic_id: Uuid,
    /// Whether it is the broker's own, such as `__consumer_offsets`.
    pub is_internal: bool,
    /// Its partitions in ascending order.
    pub partitions: Vec<PartitionDescription>,
}

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDescription {
    /// Its number.
    pub partition: i32,
    /// The leader's broker id; `None` when there is none.
    pub leader: Option<i32>,
    /// The leader epoch; −1 when unknown.
    pub leader_epoch: i32,
    /// Broker ids of all replicas, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Broker ids of the replicas in sync.
    pub in_sync_replicas: Vec<i32>,
}

/// A broker of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerDescription {
    /// Its id.
    pub id: i32,
    /// The name or address clients reach it at.
    pub host: String,
    /// The TCP port clients reach it at.
    pub port: i32,
    /// The rack it stands in.
    pub rack: Option<String>,
}

/// The cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDescription {
    /// Its id.
    pub cluster_id: String,
    /// The broker that takes administrative requests; `None` when unknown.
    pub controller: Option<i32>,
    /// Its brokers in ascending order of their ids.
    pub brokers: Vec<BrokerDescription>,
}

/// Whose settings to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigResource {
    /// A topic, by name.
    Topic(String),
    /// A broker, by id.
    Broker(i32),
}

/// Where a setting's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigSource {
    /// Set for this topic.
    Topic,
    /// Set for this broker at run time.
    Broker,
    /// Set for all brokers at run time.
    ClusterDefault,
    /// From the broker's configuration file.
    StaticBroker,
    /// Built in.
    Default,
    /// Something else, or unknown.
    Other,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Its key.
    pub name: String,
    /// Its value; `None` when sensitive or unset.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether it cannot be changed while the broker runs.
    pub is_read_only: bool,
    /// Whether the value is kept secret.
    pub is_sensitive: bool,
}

/// The settings of one resource, or why they cannot be had.
#[derive(Debug, Clone)]
pub struct ResourceConfigs {
    /// Whose.
    pub resource: ConfigResource,
    /// The settings in the broker's order.
    pub result: Result<Vec<ConfigEntry>, AdminError>,
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The setting's key.
    pub name: String,
    /// What to do with it.
    pub operation: ConfigOperation,
}

/// What is done with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOperation {
    /// It gets this value.
    Set(String),
    /// It falls back to its default.
    Delete,
    /// These join its list.
    Append(String),
    /// These leave its list.
    Subtract(String),
}

/// What became of a partition whose records were to be deleted.
#[derive(Debug, Clone)]
pub struct DeletedRecords {
    /// The partition's number.
    pub partition: i32,
    /// The offset its records begin at now, or why none were deleted.
    pub result: Result<i64, AdminError>,
}

/// A group in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupListing {
    /// Its name.
    pub group_id: String,
    /// What its members are, such as `consumer` or `connect`.
    pub protocol_type: String,
    /// Its state: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead and others; empty from brokers before
    /// Kafka 2.6.
    pub state: String,
    /// How its members share: `classic`, `consumer` (KIP-848) and others; empty from brokers before Kafka 3.8.
    pub kind: String,
    /// The broker that coordinates it.
    pub coordinator: i32,
}

/// A group with its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDescription {
    /// Its name.
    pub group_id: String,
    /// Its state, as in [`GroupListing::state`]; Dead when nobody knows it.
    pub state: String,
    /// What its members are, such as `consumer`.
    pub protocol_type: String,
    /// The assignor in use; empty unless the group is stable.
    pub protocol: String,
    /// The broker that coordinates it.
    pub coordinator: i32,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMember {
    /// The id that its coordinator gave it.
    pub member_id: String,
    /// Its fixed identity (`group.instance.id`), if it has one.
    pub instance_id: Option<String>,
    /// What it calls itself.
    pub client_id: String,
    /// The address it came from.
    pub client_host: String,
    /// The partitions it reads; none unless the group is stable and its members consumers.
    pub assigned: Vec<TopicPartition>,
}

/// What became of one group of a request.
#[derive(Debug, Clone)]
pub struct GroupOutcome {
    /// Its name.
    pub group_id: String,
    /// Success, or why not.
    pub result: Result<(), AdminError>,
}

/// A directory in which a broker keeps logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirectory {
    /// Its absolute path.
    pub path: String,
    /// Topic, partition and bytes of its segments.
    pub partitions: Vec<(String, i32, u64)>,
    /// Bytes of the disk; `None` from brokers before Kafka 3.3.
    pub total_bytes: Option<u64>,
    /// Bytes of it that can be written; likewise.
    pub usable_bytes: Option<u64>,
}
