//! The catalogue's records: an int16 version, then the body in Kafka's encoding.

use bytes::Bytes;
use pillion_wire::codec::{decode_versioned, encode_versioned};
use pillion_wire::{DecodeError, Message};
use uuid::Uuid;

use super::CatalogueError;

/// A topic.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(crate) struct TopicRecord {
    /// Its id.
    pub(crate) topic_id: Uuid,
    /// How many partitions it has.
    pub(crate) partitions: i32,
    /// What was set on it.
    pub(crate) configs: Vec<ConfigEntry>,
}

/// What was set for some brokers while they ran.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct BrokerConfigRecord {
    /// The settings.
    pub(super) configs: Vec<ConfigEntry>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Message)]
pub(crate) struct ConfigEntry {
    /// Its key.
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
}

/// The epoch the broker last began to write in.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct LeaderEpochRecord {
    /// The epoch.
    pub(super) leader_epoch: i32,
}

/// How far producer ids have been given out.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(versions = "0", flexible = "0+")]
pub(super) struct ProducerIdsRecord {
    /// The first id that was never in a block.
    pub(super) next_producer_id: i64,
}

/// Reads a value; `None` for none.
pub(super) fn read<M: Message>(value: Option<&Bytes>) -> Result<Option<M>, CatalogueError> {
    let read = |value| decode_versioned::<M>(value).map(|(_, record)| record);
    value.map(read).transpose().map_err(|error: DecodeError| CatalogueError::Unknown(error))
}

/// Writes a value in the newest version.
pub(super) fn write<M: Message>(record: &M) -> Result<Bytes, CatalogueError> {
    Ok(encode_versioned(record, *M::VERSIONS.end())?)
}
