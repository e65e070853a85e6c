//! DescribeTopicPartitions (key 75), version 0.
//!
//! Shows topics and their partitions in pages, in the order of the topics' names (KIP-966).

use uuid::Uuid;

use crate::Message;

/// Which topics to show, and from where on.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 75,
    name = "DescribeTopicPartitions",
    versions = "0",
    flexible = "0+",
    response = "DescribeTopicPartitionsResponse"
)]
pub struct DescribeTopicPartitionsRequest {
    /// The topics wanted; none named means all.
    pub topics: Vec<TopicRequest>,
    /// Partitions wanted in one answer; the broker may answer fewer.
    #[field(default = 2000)]
    pub response_partition_limit: i32,
    /// Where the last answer ended; `None` for the beginning.
    #[field(nullable = "0+", default = None)]
    pub cursor: Option<Cursor>,
}

/// A topic to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct TopicRequest {
    /// The topic's name.
    pub name: String,
}

/// A page of topics.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 75, name = "DescribeTopicPartitions", versions = "0", flexible = "0+")]
pub struct DescribeTopicPartitionsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One entry a topic.
    pub topics: Vec<DescribeTopicPartitionsResponseTopic>,
    /// Where the next page begins; `None` after the last one.
    #[field(nullable = "0+", default = None)]
    pub next_cursor: Option<Cursor>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeTopicPartitionsResponseTopic {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The topic's name.
    #[field(nullable = "0+")]
    pub name: Option<String>,
    /// The topic's id.
    pub topic_id: Uuid,
    /// Whether the topic is one of the broker's own.
    pub is_internal: bool,
    /// One entry a partition of this page.
    pub partitions: Vec<DescribeTopicPartitionsResponsePartition>,
    /// Bit set of permitted topic operations; `i32::MIN` when unknown.
    #[field(default = i32::MIN)]
    pub topic_authorized_operations: i32,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeTopicPartitionsResponsePartition {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// The partition's number.
    pub partition_index: i32,
    /// The node that leads the partition; -1 for none.
    pub leader_id: i32,
    /// The epoch it leads in.
    #[field(default = -1)]
    pub leader_epoch: i32,
    /// The nodes that hold the partition.
    pub replica_nodes: Vec<i32>,
    /// Those of them that are in sync.
    pub isr_nodes: Vec<i32>,
    /// Those that may lead though they are not in sync; `None` when there is no such list.
    #[field(nullable = "0+", default = None)]
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Those that could once lead so; `None` when there is no such list.
    #[field(nullable = "0+", default = None)]
    pub last_known_elr: Option<Vec<i32>>,
    /// Those that are not there.
    pub offline_replicas: Vec<i32>,
}

/// A place in the list of all partitions.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct Cursor {
    /// The first topic of the page.
    pub topic_name: String,
    /// The first partition of it.
    pub partition_index: i32,
}
