//! What members put into JoinGroup's and SyncGroup's opaque bytes, as Kafka's Java client does (protocol type
//! `consumer`). Pure.
//!
//! ```text
//! subscription, assignment   int16 version | body (wire's consumer_protocol)
//! user data of sticky        array of (string topic, array of int32 partitions) | int32 generation
//! user data of cooperative   int32 generation
//! ```
//! A newer version only appends fields, so one that is not known is read as the newest that is.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use pillion_wire::messages::consumer_protocol::TopicPartition as WireTopic;
use pillion_wire::messages::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use pillion_wire::{DecodeError, EncodeError, Message, Reader, Writer, codec};

use super::assignor::{Assignor, Member, TopicPartition};

/// The subscription version written: with owned partitions, their generation, and a rack.
const SUBSCRIPTION_VERSION: i16 = 3;
/// Assignments have the same fields in all versions; every client reads the oldest.
const ASSIGNMENT_VERSION: i16 = 0;
/// The newest version known of both.
const NEWEST: i16 = 3;
/// The protocol type of consumers.
pub(super) const PROTOCOL_TYPE: &str = "consumer";

/// What a member joins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subscription {
    pub(super) topics: Vec<String>,
    /// What it holds now.
    pub(super) owned: BTreeSet<TopicPartition>,
    /// What it held last, though it let that go to join.
    pub(super) last: BTreeSet<TopicPartition>,
    /// The generation of the last assignment; −1 before the first.
    pub(super) generation: i32,
}

/// A subscription's bytes for an assignor.
pub(super) fn encode_subscription(assignor: Assignor, subscription: &Subscription) -> Result<Bytes, EncodeError> {
    let user_data = match assignor {
        Assignor::Range | Assignor::RoundRobin => None,
        Assignor::Sticky => Some(sticky_user_data(&subscription.last, subscription.generation)),
        Assignor::CooperativeSticky => {
            let mut writer = Writer::new();
            writer.put_i32(subscription.generation);
            Some(writer.into_bytes())
        }
    };
    let message = ConsumerProtocolSubscription {
        topics: subscription.topics.clone(),
        user_data,
        owned_partitions: by_topic(&subscription.owned),
        generation_id: subscription.generation,
        rack_id: None,
    };
    codec::encode_versioned(&message, SUBSCRIPTION_VERSION)
}

/// A member from the subscription it sent for an assignor.
pub(super) fn decode_member(
    assignor: Assignor,
    (id, instance_id): (&str, Option<&str>),
    bytes: &Bytes,
) -> Result<Member, DecodeError> {
    let subscription: ConsumerProtocolSubscription = decode(bytes)?;
    let user_data = subscription.user_data.unwrap_or_default();
    let mut owned = flat(subscription.owned_partitions);
    let mut generation = subscription.generation_id;
    match assignor {
        Assignor::Range | Assignor::RoundRobin => {}
        // What it owned before it let everything go is told only here.
        Assignor::Sticky => (owned, generation) = read_sticky_user_data(&user_data).unwrap_or((owned, generation)),
        Assignor::CooperativeSticky if generation < 0 => {
            generation = Reader::new(&user_data).get_i32().unwrap_or(-1);
        }
        Assignor::CooperativeSticky => {}
    }
    let topics = subscription.topics.into_iter().collect();
    Ok(Member { id: id.to_owned(), instance_id: instance_id.map(str::to_owned), topics, owned, generation })
}

/// An assignment's bytes.
pub(super) fn encode_assignment(assigned: &BTreeSet<TopicPartition>) -> Result<Bytes, EncodeError> {
    let message = ConsumerProtocolAssignment { assigned_partitions: by_topic(assigned), user_data: None };
    codec::encode_versioned(&message, ASSIGNMENT_VERSION)
}

/// The partitions of an assignment; no bytes are no partitions.
pub(crate) fn decode_assignment(bytes: &Bytes) -> Result<BTreeSet<TopicPartition>, DecodeError> {
    if bytes.is_empty() {
        return Ok(BTreeSet::new());
    }
    decode::<ConsumerProtocolAssignment>(bytes).map(|assignment| flat(assignment.assigned_partitions))
}

fn decode<M: Message>(bytes: &Bytes) -> Result<M, DecodeError> {
    let mut reader = Reader::new(bytes);
    let version = reader.get_i16()?;
    M::read(&mut reader, version.min(NEWEST))
}

fn by_topic(partitions: &BTreeSet<TopicPartition>) -> Vec<WireTopic> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(&partition.topic).or_default().push(partition.partition);
    }
    topics.into_iter().map(|(topic, partitions)| WireTopic { topic: topic.to_owned(), partitions }).collect()
}

fn flat(topics: Vec<WireTopic>) -> BTreeSet<TopicPartition> {
    let of_topic = |topic: WireTopic| {
        let name = topic.topic;
        topic.partitions.into_iter().map(move |partition| TopicPartition::new(name.clone(), partition))
    };
    topics.into_iter().flat_map(of_topic).collect()
}

/// The sticky assignor's user data has the assignment's form without its version, and the generation behind it.
fn sticky_user_data(last: &BTreeSet<TopicPartition>, generation: i32) -> Bytes {
    let mut writer = Writer::new();
    let topics = by_topic(last);
    writer.put_i32(i32::try_from(topics.len()).unwrap_or(i32::MAX));
    for topic in topics {
        writer.put_i16(i16::try_from(topic.topic.len()).unwrap_or(i16::MAX));
        writer.put_slice(topic.topic.as_bytes());
        writer.put_i32(i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX));
        topic.partitions.into_iter().for_each(|partition| writer.put_i32(partition));
    }
    writer.put_i32(generation);
    writer.into_bytes()
}

/// `None` when there is nothing, or nothing that can be read: the member then has no history. Before version 1 there
/// was no generation.
fn read_sticky_user_data(bytes: &Bytes) -> Option<(BTreeSet<TopicPartition>, i32)> {
    let mut reader = Reader::new(bytes);
    let mut owned = BTreeSet::new();
    for _ in 0..reader.get_i32().ok()? {
        let length = usize::try_from(reader.get_i16().ok()?).ok()?;
        let topic = std::str::from_utf8(reader.take(length).ok()?).ok()?.to_owned();
        for _ in 0..reader.get_i32().ok()? {
            owned.insert(TopicPartition::new(topic.clone(), reader.get_i32().ok()?));
        }
    }
    Some((owned, reader.get_i32().unwrap_or(-1)))
}

#[cfg(test)]
mod tests;
