//! Fetch (key 1), versions 4 to 18.
//!
//! Reads record batches from partitions, whole, straight from the log.
//!
//! Versions: 4 brought isolation levels and aborted transactions (KIP-98); 5 the log start offset (KIP-107);
//! 7 fetch sessions (KIP-227); 9 leader-epoch fencing (KIP-320); 10 zstd (KIP-110); 11 racks and the nearest
//! replica (KIP-392); 12 flexible fields and diverging epochs (KIP-595); 13 topic ids in place of names
//! (KIP-516); 15 the replica state (KIP-903); 16 leader addresses in the answer (KIP-951); 17 the follower's
//! directory id (KIP-853); 18 the follower's high watermark (KIP-1166).

use uuid::Uuid;

use crate::{Message, Records};

/// Where to read from, and how long to wait for how much.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 1, name = "Fetch", versions = "4-18", flexible = "12+", response = "FetchResponse")]
pub struct FetchRequest {
    /// The cluster the sender believes to talk to; only KRaft replicas set it.
    #[field(versions = "12+", nullable = "12+", default = None, tag = 0, ignorable)]
    pub cluster_id: Option<String>,
    /// The following broker's id; -1 for a consumer.
    #[field(versions = "4-14", default = -1)]
    pub replica_id: i32,
    /// Who the follower is; its defaults stand for a consumer.
    #[field(versions = "15+", tag = 1)]
    pub replica_state: ReplicaState,
    /// Milliseconds to wait until `min_bytes` have gathered.
    pub max_wait_ms: i32,
    /// Bytes that must be there before the answer leaves early.
    pub min_bytes: i32,
    /// Bytes of records wanted at most; the first batch comes whole even when larger (KIP-74).
    #[field(default = i32::MAX)]
    pub max_bytes: i32,
    /// 0 reads uncommitted records too, 1 only committed ones.
    pub isolation_level: i8,
    /// The fetch session to go on with; 0 with epoch 0 asks for one, with -1 for none.
    #[field(versions = "7+", ignorable)]
    pub session_id: i32,
    /// Counts the session's requests; 0 opens a session, -1 closes or avoids one.
    #[field(versions = "7+", default = -1, ignorable)]
    pub session_epoch: i32,
    /// What to read; within a session, what has changed.
    pub topics: Vec<FetchTopic>,
    /// Partitions to drop from the session.
    #[field(versions = "7+")]
    pub forgotten_topics_data: Vec<ForgottenTopic>,
    /// The consumer's rack (`client.rack`); empty when it has none.
    #[field(versions = "11+", ignorable)]
    pub rack_id: String,
}

/// Who a following replica is.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ReplicaState {
    /// The following broker's id; -1 for a consumer.
    #[field(default = -1)]
    pub replica_id: i32,
    /// The following broker's epoch; -1 when unknown.
    #[field(default = -1)]
    pub replica_epoch: i64,
}

/// One topic's partitions to read.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct FetchTopic {
    /// The topic's name.
    #[field(versions = "4-12", ignorable)]
    pub topic: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "13+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<FetchPartition>,
}

/// Where to read one partition from.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct FetchPartition {
    /// The partition's number.
    pub partition: i32,
    /// The leader epoch the client knows; -1 skips the fencing check.
    #[field(versions = "9+", default = -1, ignorable)]
    pub current_leader_epoch: i32,
    /// The first offset wanted.
    pub fetch_offset: i64,
    /// The leader epoch of the last record fetched; -1 when there is none.
    #[field(versions = "12+", default = -1)]
    pub last_fetched_epoch: i32,
    /// The follower's log start offset; -1 from a consumer.
    #[field(versions = "5+", default = -1, ignorable)]
    pub log_start_offset: i64,
    /// Bytes wanted from this partition at most; one batch comes whole even when larger.
    pub partition_max_bytes: i32,
    /// The log directory the follower stores the partition in.
    #[field(versions = "17+", tag = 0, ignorable)]
    pub replica_directory_id: Uuid,
    /// The high watermark the follower knows; -1 unknown, `i64::MAX` when it has no such notion.
    #[field(versions = "18+", default = i64::MAX, tag = 1, ignorable)]
    pub high_watermark: i64,
}

/// One topic's partitions to drop from the session.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ForgottenTopic {
    /// The topic's name.
    #[field(versions = "7-12", ignorable)]
    pub topic: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "13+", ignorable)]
    pub topic_id: Uuid,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// The batches found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 1, name = "Fetch", versions = "4-18", flexible = "12+")]
pub struct FetchResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number of the whole request, such as a lost session; 0 means none.
    #[field(versions = "7+", ignorable)]
    pub error_code: i16,
    /// The session opened or gone on with; 0 when there is none.
    #[field(versions = "7+")]
    pub session_id: i32,
    /// The results, by topic; within a session, what has changed.
    pub responses: Vec<FetchableTopicResponse>,
    /// Addresses of the leaders named by `current_leader`.
    #[field(versions = "16+", tag = 0)]
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// One topic's results.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct FetchableTopicResponse {
    /// The topic's name.
    #[field(versions = "4-12", ignorable)]
    pub topic: String,
    /// The topic's id; nil where the name identifies the topic.
    #[field(versions = "13+", ignorable)]
    pub topic_id: Uuid,
    /// One entry a partition.
    pub partitions: Vec<PartitionData>,
}

/// One partition's records and marks.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct PartitionData {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The high watermark, exclusive; -1 on an error.
    pub high_watermark: i64,
    /// The last stable offset: below it every transaction is decided; -1 when unknown.
    #[field(default = -1)]
    pub last_stable_offset: i64,
    /// The partition's log start offset; -1 when unknown.
    #[field(versions = "5+", default = -1, ignorable)]
    pub log_start_offset: i64,
    /// Where the reader's log left the leader's; defaults stand for nowhere.
    #[field(versions = "12+", tag = 0)]
    pub diverging_epoch: EpochEndOffset,
    /// The partition's leader, when the reader has it wrong.
    #[field(versions = "12+", tag = 1)]
    pub current_leader: LeaderIdAndEpoch,
    /// The snapshot to fetch instead; only KRaft replicas get one.
    #[field(versions = "12+", tag = 2)]
    pub snapshot_id: SnapshotId,
    /// Aborted transactions the records may belong to; `None` when reading uncommitted.
    #[field(nullable = "0+")]
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// A nearer replica to read from; -1 for none.
    #[field(versions = "11+", default = -1)]
    pub preferred_read_replica: i32,
    /// Whole batches, except that the last may be cut short; the first may begin below the fetch offset.
    #[field(nullable = "0+", default = None)]
    pub records: Option<Records>,
}

/// A leader epoch and the offset it ended at.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EpochEndOffset {
    /// The leader epoch; -1 for none.
    #[field(default = -1)]
    pub epoch: i32,
    /// The offset after the epoch's last record; -1 for none.
    #[field(default = -1)]
    pub end_offset: i64,
}

/// A partition's leader and its epoch.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct LeaderIdAndEpoch {
    /// The leader's broker id; -1 when unknown.
    #[field(default = -1)]
    pub leader_id: i32,
    /// The leader epoch; -1 when unknown.
    #[field(default = -1)]
    pub leader_epoch: i32,
}

/// A snapshot of a KRaft log.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct SnapshotId {
    /// The offset after the last record the snapshot covers; -1 for no snapshot.
    #[field(default = -1)]
    pub end_offset: i64,
    /// The leader epoch of that record; -1 for no snapshot.
    #[field(default = -1)]
    pub epoch: i32,
}

/// A transaction whose records a committed reader must skip.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AbortedTransaction {
    /// The producer's id.
    pub producer_id: i64,
    /// The transaction's first offset in this partition.
    pub first_offset: i64,
}

/// A broker's address.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct NodeEndpoint {
    /// The broker's id.
    pub node_id: i32,
    /// The name or address clients reach the broker at.
    pub host: String,
    /// The TCP port clients reach the broker at.
    pub port: i32,
    /// The rack the broker stands in, if it has one.
    #[field(nullable = "0+", default = None)]
    pub rack: Option<String>,
}
