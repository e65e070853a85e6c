//! The records of Kafka's metadata log, as far as they say what is in a data directory (Kafka 4.4's schemas).
//!
//! ```text
//! unsigned varint   1, the frame's version
//! unsigned varint   the record's kind
//! unsigned varint   the record's version
//! the record's body
//! ```
//! Pure. Kinds that say nothing of topics, settings or producer ids are [`MetadataRecord::Other`], whatever they hold.

use bytes::Bytes;
use pillion_wire::{DecodeError, Message, Reader};
use thiserror::Error;
use uuid::Uuid;

const FRAME_VERSION: u32 = 1;

/// A topic (kind 2).
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct KafkaTopicRecord {
    /// Its name.
    pub(super) name: String,
    /// Its id.
    pub(super) topic_id: Uuid,
}

/// A partition (kind 3).
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-2", flexible = "0+")]
pub(super) struct PartitionRecord {
    /// Its number.
    #[field(default = -1)]
    pub(super) partition_id: i32,
    /// Its topic.
    pub(super) topic_id: Uuid,
    /// The nodes that hold it.
    pub(super) replicas: Vec<i32>,
    /// Those of them in sync.
    pub(super) isr: Vec<i32>,
    /// Those that shall not hold it any more.
    pub(super) removing_replicas: Vec<i32>,
    /// Those that shall.
    pub(super) adding_replicas: Vec<i32>,
    /// The node that leads it; −1 for none.
    #[field(default = -1)]
    pub(super) leader: i32,
    /// The leader's epoch.
    #[field(default = -1)]
    pub(super) leader_epoch: i32,
    /// Counts changes of any kind.
    #[field(default = -1)]
    pub(super) partition_epoch: i32,
    /// The log directory of each replica.
    #[field(versions = "1+")]
    pub(super) directories: Vec<Uuid>,
}

/// What a change leaves as it was.
pub(super) const LEADER_UNCHANGED: i32 = -2;

/// A change of a partition (kind 5); what did not change is left out.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0-2", flexible = "0+")]
pub(super) struct PartitionChangeRecord {
    /// The partition's number.
    #[field(default = -1)]
    pub(super) partition_id: i32,
    /// Its topic.
    pub(super) topic_id: Uuid,
    /// The new leader, −1 for none, [`LEADER_UNCHANGED`].
    #[field(tag = 1, default = LEADER_UNCHANGED)]
    pub(super) leader: i32,
    /// The nodes that hold it now.
    #[field(tag = 2, nullable = "0+", default = None)]
    pub(super) replicas: Option<Vec<i32>>,
}

/// A setting of a topic, a broker or something else (kind 4).
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct ConfigRecord {
    /// Numbered as in DescribeConfigs.
    pub(super) resource_type: i8,
    /// The topic's name, or the broker's id, empty for all brokers.
    pub(super) resource_name: String,
    /// The key.
    pub(super) name: String,
    /// The value; null takes the setting back.
    #[field(nullable = "0+")]
    pub(super) value: Option<String>,
}

/// A topic's end (kind 9).
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct RemoveTopicRecord {
    /// Its id.
    pub(super) topic_id: Uuid,
}

/// A block of producer ids given out (kind 15).
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct KafkaProducerIdsRecord {
    /// To whom.
    pub(super) broker_id: i32,
    /// In which of its lives.
    #[field(default = -1)]
    pub(super) broker_epoch: i64,
    /// The first id behind the block.
    pub(super) next_producer_id: i64,
}

/// A record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MetadataRecord {
    Topic(KafkaTopicRecord),
    Partition(PartitionRecord),
    PartitionChange(PartitionChangeRecord),
    Config(ConfigRecord),
    RemoveTopic(RemoveTopicRecord),
    ProducerIds(KafkaProducerIdsRecord),
    /// What follows counts once its transaction has ended (KIP-868).
    BeginTransaction,
    EndTransaction,
    AbortTransaction,
    /// Anything else.
    Other,
}

/// Bytes that are no record this program knows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetadataRecordError {
    /// A frame, or a version of a kind that matters, that is not known: a newer Kafka wrote it.
    #[error("a record of kind {kind} has version {version}, which only a newer Kafka writes")]
    Version {
        /// The kind; −1 for the frame itself.
        kind: i64,
        /// The version.
        version: u32,
    },
    /// It does not decode.
    #[error("a record does not decode")]
    Malformed(#[from] DecodeError),
}

/// Reads a record's value.
pub(super) fn decode(value: &Bytes) -> Result<MetadataRecord, MetadataRecordError> {
    let mut reader = Reader::new(value);
    let frame = reader.get_unsigned_varint()?;
    if frame != FRAME_VERSION {
        return Err(MetadataRecordError::Version { kind: -1, version: frame });
    }
    let (kind, version) = (reader.get_unsigned_varint()?, reader.get_unsigned_varint()?);
    Ok(match kind {
        2 => MetadataRecord::Topic(body(&mut reader, kind, version)?),
        3 => MetadataRecord::Partition(body(&mut reader, kind, version)?),
        4 => MetadataRecord::Config(body(&mut reader, kind, version)?),
        5 => MetadataRecord::PartitionChange(body(&mut reader, kind, version)?),
        9 => MetadataRecord::RemoveTopic(body(&mut reader, kind, version)?),
        15 => MetadataRecord::ProducerIds(body(&mut reader, kind, version)?),
        23 => MetadataRecord::BeginTransaction,
        24 => MetadataRecord::EndTransaction,
        25 => MetadataRecord::AbortTransaction,
        _ => MetadataRecord::Other,
    })
}

fn body<M: Message>(reader: &mut Reader<'_>, kind: u32, version: u32) -> Result<M, MetadataRecordError> {
    let known = i16::try_from(version).ok().filter(|version| M::VERSIONS.contains(version));
    let Some(known) = known else {
        return Err(MetadataRecordError::Version { kind: i64::from(kind), version });
    };
    Ok(M::read(reader, known)?)
}
