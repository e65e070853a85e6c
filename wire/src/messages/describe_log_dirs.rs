//! DescribeLogDirs (key 35), versions 1 to 5.
//!
//! Shows where partitions are kept and how large they are.
//!
//! Versions: 2 brought flexible fields; 3 an error for all; 4 the disk's size (KIP-827); 5 cordoned directories
//! (KIP-1066).

use crate::Message;

/// What to show.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 35, name = "DescribeLogDirs", versions = "1-5", flexible = "2+", response = "DescribeLogDirsResponse")]
pub struct DescribeLogDirsRequest {
    /// The topics wanted; `None` means all.
    #[field(nullable = "0+")]
    pub topics: Option<Vec<DescribableLogDirTopic>>,
}

/// A topic to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribableLogDirTopic {
    /// The topic's name.
    pub topic: String,
    /// The partitions wanted.
    pub partitions: Vec<i32>,
}

/// The directories.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 35, name = "DescribeLogDirs", versions = "1-5", flexible = "2+")]
pub struct DescribeLogDirsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    #[field(versions = "3+", ignorable)]
    pub error_code: i16,
    /// One entry a directory.
    pub results: Vec<DescribeLogDirsResult>,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeLogDirsResult {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// Its absolute path.
    pub log_dir: String,
    /// One entry a topic that has partitions here.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// Bytes of the disk; -1 when unknown.
    #[field(versions = "4+", default = -1, ignorable)]
    pub total_bytes: i64,
    /// Bytes of it that can be written; -1 when unknown.
    #[field(versions = "4+", default = -1, ignorable)]
    pub usable_bytes: i64,
    /// Whether no new partition goes there.
    #[field(versions = "5+", ignorable)]
    pub is_cordoned: bool,
}

/// A topic of a directory.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeLogDirsTopic {
    /// The topic's name.
    pub name: String,
    /// One entry a partition.
    pub partitions: Vec<DescribeLogDirsPartition>,
}

/// A partition of a directory.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeLogDirsPartition {
    /// The partition's number.
    pub partition_index: i32,
    /// Bytes of its segments.
    pub partition_size: i64,
    /// How far it is behind the high watermark, or, on its way to another directory, behind the one it leaves.
    pub offset_lag: i64,
    /// Whether it is a copy on its way to another directory.
    pub is_future_key: bool,
}
