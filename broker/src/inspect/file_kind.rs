//! What a file is, by its name.

use std::path::Path;

use serde::Serialize;

use super::file_name;
use crate::log::format::names::{self, Kind};

/// What a file in a data directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileKind {
    /// `.log`: record batches.
    Segment,
    /// `OFFSET-EPOCH.checkpoint`: a snapshot of Kafka's cluster metadata, as record batches too.
    MetadataSnapshot,
    /// `.index`
    OffsetIndex,
    /// `.timeindex`
    TimeIndex,
    /// `.txnindex`
    TransactionIndex,
    /// `.snapshot`
    ProducerSnapshot,
    /// `leader-epoch-checkpoint`
    LeaderEpochCheckpoint,
    /// `recovery-point-offset-checkpoint` and its siblings.
    OffsetCheckpoint,
    /// `partition.metadata`
    PartitionMetadata,
    /// A few lines of text, such as `meta.properties`.
    Text,
    /// Nothing that is known here.
    Other,
}

impl FileKind {
    /// The kind of the file at `path`; nothing is opened.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let name = file_name(path);
        if let Some(file) = names::parse(&name) {
            return match file.kind {
                Kind::Log => Self::Segment,
                Kind::OffsetIndex => Self::OffsetIndex,
                Kind::TimeIndex => Self::TimeIndex,
                Kind::TransactionIndex => Self::TransactionIndex,
                Kind::Snapshot => Self::ProducerSnapshot,
            };
        }
        match name.as_str() {
            "leader-epoch-checkpoint" => Self::LeaderEpochCheckpoint,
            "partition.metadata" => Self::PartitionMetadata,
            "meta.properties" | ".kafka_cleanshutdown" | "quorum-state" => Self::Text,
            name if name.ends_with("-offset-checkpoint") => Self::OffsetCheckpoint,
            name if name.ends_with(".checkpoint") => Self::MetadataSnapshot,
            _ => Self::Other,
        }
    }

    /// The kind, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Segment => "segment",
            Self::MetadataSnapshot => "snapshot of cluster metadata",
            Self::OffsetIndex => "offset index",
            Self::TimeIndex => "time index",
            Self::TransactionIndex => "transaction index",
            Self::ProducerSnapshot => "producer snapshot",
            Self::LeaderEpochCheckpoint => "leader epochs",
            Self::OffsetCheckpoint => "offsets of partitions",
            Self::PartitionMetadata => "partition's topic",
            Self::Text => "text",
            Self::Other => "not a log's file",
        }
    }
}
