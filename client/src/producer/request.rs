//! Batches into a Produce request, and its answer back into what came of each batch. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::messages::produce::{PartitionProduceData, PartitionProduceResponse, TopicProduceData};
use pillion_wire::messages::{ProduceRequest, ProduceResponse};
use pillion_wire::{ErrorCode, Records};
use uuid::Uuid;

use super::partition::Outcome;
use crate::connection::ConnectionError;
use crate::metadata::Cluster;

/// The last version that names topics; later ones take ids.
pub(super) const NEWEST_WITH_NAMES: i16 = 12;

/// The first version that adds its partitions to the transaction itself (KIP-890).
pub(super) const FIRST_TO_ENLIST: i16 = 12;

/// Where an encoded batch goes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) topic: Arc<str>,
    /// Nil when unknown.
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
}

impl Target {
    pub(super) fn new((topic, partition): (Arc<str>, i32), cluster: &Cluster) -> Self {
        let topic_id = cluster.topic(&topic).map_or(Uuid::nil(), |topic| topic.id);
        Self { topic, topic_id, partition }
    }
}

/// The newest version that can name all targets.
pub(super) fn newest_version<'a>(targets: impl Iterator<Item = &'a Target>) -> i16 {
    let mut targets = targets;
    if targets.any(|target| target.topic_id.is_nil()) { NEWEST_WITH_NAMES } else { i16::MAX }
}

/// The request that carries `batches`.
pub(super) fn build(
    transactional_id: Option<String>,
    acks: i16,
    timeout_ms: i32,
    batches: Vec<(Target, Bytes)>,
) -> ProduceRequest {
    let mut topic_data: Vec<TopicProduceData> = Vec::new();
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    for (target, batch) in batches {
        let place = *places.entry(target.topic.clone()).or_insert_with(|| {
            let (name, topic_id) = (target.topic.to_string(), target.topic_id);
            topic_data.push(TopicProduceData { name, topic_id, partition_data: Vec::new() });
            topic_data.len() - 1
        });
        let records = Some(Records::Bytes(batch));
        topic_data[place].partition_data.push(PartitionProduceData { index: target.partition, records });
    }
    ProduceRequest { transactional_id, acks, timeout_ms, topic_data }
}

/// What came of each target's batch, in their order. A batch the broker left out counts as lost.
pub(super) fn outcomes(response: ProduceResponse, version: i16, targets: &[Target]) -> Vec<Outcome> {
    let by_name = version <= NEWEST_WITH_NAMES;
    let mut answers: HashMap<(Uuid, String, i32), PartitionProduceResponse> = HashMap::new();
    for topic in response.responses {
        for answer in topic.partition_responses {
            let key = if by_name { (Uuid::nil(), topic.name.clone()) } else { (topic.topic_id, String::new()) };
            answers.insert((key.0, key.1, answer.index), answer);
        }
    }
    let outcome = |target: &Target| {
        let key = if by_name { (Uuid::nil(), target.topic.to_string()) } else { (target.topic_id, String::new()) };
        match answers.remove(&(key.0, key.1, target.partition)) {
            Some(answer) => Outcome::Answered {
                code: ErrorCode::from_code(answer.error_code),
                message: answer.error_message,
                base_offset: answer.base_offset,
            },
            None => Outcome::Lost(ConnectionError::NotAnswered { what: "Produce" }),
        }
    };
    targets.iter().map(outcome).collect()
}
