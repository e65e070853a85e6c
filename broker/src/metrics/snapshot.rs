//! One look at a broker: plain numbers, for metrics, a page, a test.

use super::histogram::HistogramSnapshot;

/// How much of what there may be much of is listed one by one. Sums are of everything all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Topics, the first by name.
    pub topics: usize,
    /// Groups, the first by name.
    pub groups: usize,
    /// Topics of each group, the first by name.
    pub topics_of_group: usize,
}

/// One look at a broker. Counters begin at 0 with the process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrokerSnapshot {
    /// The cluster's id.
    pub cluster_id: String,
    /// The broker's.
    pub node_id: i32,
    /// APIs that were asked for.
    pub apis: Vec<ApiSnapshot>,
    /// Connections and bytes.
    pub network: NetworkSnapshot,
    /// How long syncs of partitions took; one sync makes everything durable that was appended to a partition before it.
    pub syncs: HistogramSnapshot,
    /// Syncs that failed: each took a partition offline.
    pub sync_failures: u64,
    /// Bytes written and not synced yet.
    pub unsynced_bytes: u64,
    /// Records appended to any partition: produced ones, transaction markers, and what the broker keeps itself.
    pub appended_records: u64,
    /// Bytes of the batches they came in.
    pub appended_bytes: u64,
    /// Bytes of batches sent to those who fetch.
    pub fetched_bytes: u64,
    /// Bytes of all logs.
    pub log_bytes: u64,
    /// Topics there are, internal ones too.
    pub topic_count: usize,
    /// Partitions there are.
    pub partition_count: usize,
    /// Partitions that are neither read nor written.
    pub offline_partition_count: usize,
    /// Topics one by one, in the order of their names.
    pub topics: Vec<TopicSnapshot>,
    /// Groups there are.
    pub group_count: usize,
    /// Groups one by one, in the order of their names.
    pub groups: Vec<GroupSnapshot>,
    /// Transactions that have begun and not ended.
    pub open_transactions: usize,
    /// The data directory's disk; `None` where it cannot be asked.
    pub disk: Option<DiskSnapshot>,
}

/// An API.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiSnapshot {
    /// Its name, as `Produce`.
    pub name: &'static str,
    /// From when a request was read to when its answer was there: a fetch's wait for records, and a produce's for the
    /// disk, are in it.
    pub latency: HistogramSnapshot,
}

/// Connections and bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkSnapshot {
    /// Bytes read from connections.
    pub received_bytes: u64,
    /// Bytes written to connections.
    pub sent_bytes: u64,
    /// Connections accepted.
    pub connections_opened: u64,
    /// Connections there are.
    pub connections_open: u64,
    /// Connections turned away because of `max.connections` or `max.connections.per.ip`.
    pub connections_refused: u64,
    /// Connections closed because of what they sent.
    pub protocol_errors: u64,
    /// Bytes of large requests that are being received or worked on.
    pub request_bytes: usize,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSnapshot {
    /// Its name.
    pub name: String,
    /// Whether it is the broker's own.
    pub is_internal: bool,
    /// Its partitions.
    pub partitions: usize,
    /// Those of them that are neither read nor written.
    pub offline_partitions: usize,
    /// Bytes of its logs.
    pub log_bytes: u64,
    /// Its partitions' log start offsets, added up.
    pub log_start_offsets: i64,
    /// Its partitions' high watermarks, added up.
    pub high_watermarks: i64,
    /// Records appended since the broker started, or since the topic was made.
    pub appended_records: u64,
    /// Bytes of the batches they came in.
    pub appended_bytes: u64,
    /// Bytes sent to those who fetch. Records are not known: the broker never looks into a batch.
    pub fetched_bytes: u64,
}

/// A consumer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSnapshot {
    /// Its name.
    pub name: String,
    /// `Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`.
    pub state: &'static str,
    /// Its members.
    pub members: usize,
    /// What it has committed, by topic.
    pub topics: Vec<GroupTopicSnapshot>,
}

/// What a group has committed of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupTopicSnapshot {
    /// The topic.
    pub topic: String,
    /// Partitions it has committed an offset of.
    pub partitions: usize,
    /// Offsets between those and the high watermarks, added up.
    pub lag: u64,
}

/// A disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSnapshot {
    /// Bytes free.
    pub free_bytes: u64,
    /// Its size in bytes.
    pub total_bytes: u64,
    /// Bytes that must be free for producers to be served.
    pub free_bytes_min: u64,
}
