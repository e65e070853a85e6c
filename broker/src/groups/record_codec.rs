//! The bytes of `__consumer_offsets`: Kafka's own, so that Kafka's tools read ours and we read Kafka's.
//!
//! ```text
//! key    int16 kind: 1 (or 0, of old) committed offset, 2 classic group │ group, topic, partition │ group
//! value  int16 version │ fields │ or null: deleted
//! ```
//! Written: committed offsets as value version 3, which every Kafka since 2.1 reads; 4 where there is a topic id to
//! keep (Kafka 4.4 always writes 4), 1 where the client chose a retention of its own, as Kafka does. Groups as value
//! version 3, as Kafka 4.4 does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pillion_wire::codec::{decode_versioned, encode_versioned};
use pillion_wire::messages::group_records::{
    GroupMetadataKey, GroupMetadataValue, MemberMetadata as MemberMetadataValue, OffsetCommitKey, OffsetCommitValue,
};
use pillion_wire::{Codec, DecodeError, EncodeError, Writer};

use super::event::duration_of_ms;
use super::record::{CommittedOffset, GroupMetadata, GroupRecord, MemberMetadata};

const OFFSET_KEY_OLD: i16 = 0;
const OFFSET_KEY: i16 = 1;
const GROUP_KEY: i16 = 2;
const GROUP_VALUE: i16 = 3;

/// A record's key and value; no value deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedRecord {
    /// Never null.
    pub(crate) key: Bytes,
    /// `None` for a tombstone.
    pub(crate) value: Option<Bytes>,
}

/// What a key and a value say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodedRecord {
    /// Something of the classic protocol.
    Known(GroupRecord),
    /// A kind this broker has nothing to do with, such as a group of KIP-848: to be passed over with a warning.
    Unknown {
        /// The key's first two bytes.
        kind: i16,
    },
}

/// The bytes of a record.
///
/// # Errors
/// When a text is longer than the format's length fields can say.
pub(crate) fn encode(record: &GroupRecord) -> Result<EncodedRecord, EncodeError> {
    match record {
        GroupRecord::Metadata { group_id, metadata } => Ok(EncodedRecord {
            key: encode_versioned(&GroupMetadataKey { group: group_id.to_string() }, GROUP_KEY)?,
            value: metadata.as_ref().map(group_value).transpose()?,
        }),
        GroupRecord::Offset { group_id, topic, partition, committed } => {
            let key = OffsetCommitKey { group: group_id.to_string(), topic: topic.to_string(), partition: *partition };
            Ok(EncodedRecord {
                key: encode_versioned(&key, OFFSET_KEY)?,
                value: committed
                    .as_ref()
                    .map(|committed| encode_versioned(&offset_value(committed), offset_value_version(committed)))
                    .transpose()?,
            })
        }
    }
}

/// What a record says.
///
/// # Errors
/// When the key is of a known kind, but key or value are not what the format says.
pub(crate) fn decode(key: &Bytes, value: Option<&Bytes>) -> Result<DecodedRecord, DecodeError> {
    let kind = pillion_wire::Reader::new(key).get_i16()?;
    let record = match kind {
        OFFSET_KEY_OLD | OFFSET_KEY => {
            let (_, key) = decode_versioned::<OffsetCommitKey>(key)?;
            GroupRecord::Offset {
                group_id: Arc::from(key.group),
                topic: Arc::from(key.topic),
                partition: key.partition,
                committed: value.map(decode_versioned).transpose()?.map(|(_, value)| committed_offset(value)),
            }
        }
        GROUP_KEY => {
            let (_, key) = decode_versioned::<GroupMetadataKey>(key)?;
            GroupRecord::Metadata {
                group_id: Arc::from(key.group),
                metadata: value.map(decode_versioned).transpose()?.map(|(_, value)| group_metadata(value)),
            }
        }
        kind => return Ok(DecodedRecord::Unknown { kind }),
    };
    Ok(DecodedRecord::Known(record))
}

fn offset_value_version(committed: &CommittedOffset) -> i16 {
    match committed {
        CommittedOffset { expire_timestamp_ms: Some(_), .. } => 1,
        CommittedOffset { topic_id, .. } if topic_id.is_nil() => 3,
        CommittedOffset { .. } => 4,
    }
}

fn offset_value(committed: &CommittedOffset) -> OffsetCommitValue {
    OffsetCommitValue {
        offset: committed.offset,
        leader_epoch: committed.leader_epoch,
        metadata: committed.metadata.to_string(),
        commit_timestamp: committed.commit_timestamp_ms,
        expire_timestamp: committed.expire_timestamp_ms.unwrap_or(-1),
        topic_id: committed.topic_id,
    }
}

fn committed_offset(value: OffsetCommitValue) -> CommittedOffset {
    CommittedOffset {
        offset: value.offset,
        leader_epoch: value.leader_epoch,
        metadata: Arc::from(value.metadata),
        commit_timestamp_ms: value.commit_timestamp,
        expire_timestamp_ms: Some(value.expire_timestamp).filter(|timestamp_ms| *timestamp_ms != -1),
        topic_id: value.topic_id,
    }
}

/// A group's bytes, its members put one by one behind the rest of it, which in version 3 they and their number end:
/// thousands of members are not in memory twice more.
fn group_value(metadata: &GroupMetadata) -> Result<Bytes, EncodeError> {
    let without_members = GroupMetadataValue {
        protocol_type: metadata.protocol_type.to_string(),
        generation: metadata.generation,
        protocol: metadata.protocol_name.as_deref().map(str::to_owned),
        leader: metadata.leader.as_deref().map(str::to_owned),
        current_state_timestamp: metadata.state_since_ms.unwrap_or(-1),
        members: Vec::new(),
    };
    let without_members = encode_versioned(&without_members, GROUP_VALUE)?;
    let before_count = &without_members[..without_members.len() - size_of::<i32>()];
    let count = metadata.members.len();
    let mut writer = Writer::new();
    writer.reserve(without_members.len() + metadata.members.iter().map(member_bytes).sum::<usize>());
    writer.put_slice(before_count);
    writer.put_i32(i32::try_from(count).map_err(|_| EncodeError::TooLong(count))?);
    for member in &metadata.members {
        member_value(member).encode(&mut writer, GROUP_VALUE)?;
    }
    Ok(writer.into_bytes())
}

/// What a member takes in a group's bytes.
fn member_bytes(member: &MemberMetadata) -> usize {
    const LENGTHS_AND_TIMEOUTS: usize = 4 * size_of::<i16>() + 4 * size_of::<i32>();
    let instance_id = member.group_instance_id.as_deref().unwrap_or_default();
    LENGTHS_AND_TIMEOUTS
        + [&*member.member_id, instance_id, &*member.client_id, &*member.client_host]
            .map(str::len)
            .iter()
            .sum::<usize>()
        + member.subscription.len()
        + member.assignment.len()
}

fn member_value(member: &MemberMetadata) -> MemberMetadataValue {
    MemberMetadataValue {
        member_id: member.member_id.to_string(),
        group_instance_id: member.group_instance_id.as_deref().map(str::to_owned),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        rebalance_timeout: timeout_ms(member.rebalance_timeout),
        session_timeout: timeout_ms(member.session_timeout),
        subscription: member.subscription.clone(),
        assignment: member.assignment.clone(),
    }
}

fn group_metadata(value: GroupMetadataValue) -> GroupMetadata {
    GroupMetadata {
        protocol_type: Arc::from(value.protocol_type),
        generation: value.generation,
        protocol_name: value.protocol.map(Arc::from),
        leader: value.leader.map(Arc::from),
        state_since_ms: Some(value.current_state_timestamp).filter(|timestamp_ms| *timestamp_ms != -1),
        members: value.members.into_iter().map(member_metadata).collect(),
    }
}

/// Bytes are copied, so that a member does not keep the batch it was read from in memory.
fn member_metadata(value: MemberMetadataValue) -> MemberMetadata {
    let rebalance_timeout_ms =
        if value.rebalance_timeout < 0 { value.session_timeout } else { value.rebalance_timeout };
    MemberMetadata {
        member_id: Arc::from(value.member_id),
        group_instance_id: value.group_instance_id.map(Arc::from),
        client_id: Arc::from(value.client_id),
        client_host: Arc::from(value.client_host),
        rebalance_timeout: duration_of_ms(rebalance_timeout_ms),
        session_timeout: duration_of_ms(value.session_timeout),
        subscription: Bytes::copy_from_slice(&value.subscription),
        assignment: Bytes::copy_from_slice(&value.assignment),
    }
}

fn timeout_ms(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
