//! WriteTxnMarkers (key 27), versions 1 to 2.
//!
//! Has markers that end transactions written into partitions. Coordinators send it to leaders; an administrator's tool
//! does to end a transaction that hangs (KIP-664).
//!
//! Versions: 1 brought flexible fields; 2 the transaction's version (KIP-1228).

use crate::Message;

/// The markers to write.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 27, name = "WriteTxnMarkers", versions = "1-2", flexible = "1+", response = "WriteTxnMarkersResponse")]
pub struct WriteTxnMarkersRequest {
    /// One for each transaction that ends.
    pub markers: Vec<WritableTxnMarker>,
}

/// How one producer's transaction ends.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct WritableTxnMarker {
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether it is committed; else it is aborted.
    pub transaction_result: bool,
    /// Where the marker goes.
    pub topics: Vec<WritableTxnMarkerTopic>,
    /// Epoch of the coordinator that decided it.
    pub coordinator_epoch: i32,
    /// 2 when the marker's epoch is one above that of the transaction's records; 0 and 1 when it is the same.
    #[field(versions = "2+", ignorable)]
    pub transaction_version: i8,
}

/// Partitions of one topic.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct WritableTxnMarkerTopic {
    /// The topic's name.
    pub name: String,
    /// The partitions' numbers.
    pub partition_indexes: Vec<i32>,
}

/// What became of each marker.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 27, name = "WriteTxnMarkers", versions = "1-2", flexible = "1+")]
pub struct WriteTxnMarkersResponse {
    /// Results by marker.
    pub markers: Vec<WritableTxnMarkerResult>,
}

/// Results of one marker.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct WritableTxnMarkerResult {
    /// The producer's id.
    pub producer_id: i64,
    /// Results by topic.
    pub topics: Vec<WritableTxnMarkerTopicResult>,
}

/// Results of one topic's partitions.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct WritableTxnMarkerTopicResult {
    /// The topic's name.
    pub name: String,
    /// Results by partition.
    pub partitions: Vec<WritableTxnMarkerPartitionResult>,
}

/// Result of one partition.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct WritableTxnMarkerPartitionResult {
    /// The partition's number.
    pub partition_index: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
}
