//! AlterReplicaLogDirs (key 34), versions 1 to 2.
//!
//! Moves partitions to other directories of a broker (KIP-113).
//!
//! Versions: 2 brought flexible fields.

use crate::Message;

/// What goes where.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 34,
    name = "AlterReplicaLogDirs",
    versions = "1-2",
    flexible = "2+",
    response = "AlterReplicaLogDirsResponse"
)]
pub struct AlterReplicaLogDirsRequest {
    /// One entry a directory.
    pub dirs: Vec<AlterReplicaLogDir>,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterReplicaLogDir {
    /// Its absolute path.
    pub path: String,
    /// The topics whose partitions go there.
    pub topics: Vec<AlterReplicaLogDirTopic>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterReplicaLogDirTopic {
    /// The topic's name.
    pub name: String,
    /// Its partitions that go there.
    pub partitions: Vec<i32>,
}

/// Which of them go.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 34, name = "AlterReplicaLogDirs", versions = "1-2", flexible = "2+")]
pub struct AlterReplicaLogDirsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One entry a topic.
    pub results: Vec<AlterReplicaLogDirTopicResult>,
}

/// A topic's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterReplicaLogDirTopicResult {
    /// The topic's name.
    pub topic_name: String,
    /// One entry a partition.
    pub partitions: Vec<AlterReplicaLogDirPartitionResult>,
}

/// A partition's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterReplicaLogDirPartitionResult {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
