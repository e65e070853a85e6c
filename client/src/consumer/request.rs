//! Positions into a Fetch request, and its answer back into what came of each partition. Pure.

use std::sync::Arc;

use pillion_wire::messages::fetch::{FetchPartition, FetchTopic, PartitionData};
use pillion_wire::messages::{FetchRequest, FetchResponse};
use pillion_wire::{ErrorCode, Records};
use uuid::Uuid;

use super::ConsumerConfig;
use super::fetched::{Fetched, Position};

/// The last version that names topics; later ones take ids.
pub(super) const NEWEST_WITH_NAMES: i16 = 12;
/// The session epoch of a request outside sessions (KIP-227).
const NO_SESSION: i32 = -1;

/// A partition to fetch from.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// Its place in the consumer's assignment when it was asked, and what it is known by wherever it moved since.
    pub(super) index: usize,
    pub(super) generation: u64,
    pub(super) topic: Arc<str>,
    /// Nil when unknown.
    pub(super) topic_id: Uuid,
    pub(super) partition: i32,
    pub(super) leader_epoch: i32,
    pub(super) position: Position,
}

/// What came of one partition.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: ErrorCode,
    pub(super) high_watermark: i64,
    /// Where the log was cut back to below the position, if it was.
    pub(super) truncated_to: Option<i64>,
    pub(super) fetched: Fetched,
}

/// The newest version that can name all topics.
pub(super) fn newest_version(wanted: &[Wanted]) -> i16 {
    if wanted.iter().any(|wanted| wanted.topic_id.is_nil()) { NEWEST_WITH_NAMES } else { i16::MAX }
}

/// The request for some partitions in a version.
pub(super) fn build(config: &ConsumerConfig, version: i16, wanted: &[Wanted]) -> FetchRequest {
    let mut topics: Vec<FetchTopic> = Vec::new();
    for wanted in wanted {
        let partition = FetchPartition {
            partition: wanted.partition,
            current_leader_epoch: wanted.leader_epoch,
            fetch_offset: wanted.position.offset,
            // The broker then tells when the log was cut back and has other records below the position.
            last_fetched_epoch: if version >= NEWEST_WITH_NAMES { wanted.position.last_epoch } else { -1 },
            partition_max_bytes: config.max_partition_fetch_bytes,
            ..FetchPartition::default()
        };
        match topics.iter_mut().find(|topic| topic.topic == *wanted.topic) {
            Some(topic) => topic.partitions.push(partition),
            None => topics.push(FetchTopic {
                topic: wanted.topic.to_string(),
                topic_id: wanted.topic_id,
                partitions: vec![partition],
            }),
        }
    }
    FetchRequest {
        max_wait_ms: i32::try_from(config.fetch_max_wait.as_millis()).unwrap_or(i32::MAX),
        min_bytes: config.fetch_min_bytes,
        max_bytes: config.fetch_max_bytes,
        isolation_level: config.isolation_level.code(),
        session_id: 0,
        session_epoch: NO_SESSION,
        topics,
        ..FetchRequest::default()
    }
}

/// What came of each wanted partition that was answered.
pub(super) fn answers(response: FetchResponse, version: i16, wanted: &[Wanted]) -> Vec<(Wanted, Answer)> {
    let mut answers = Vec::with_capacity(wanted.len());
    for topic in response.responses {
        for data in topic.partitions {
            let asked = wanted.iter().find(|wanted| {
                let same_topic = if version <= NEWEST_WITH_NAMES {
                    *wanted.topic == *topic.topic
                } else {
                    wanted.topic_id == topic.topic_id
                };
                same_topic && wanted.partition == data.partition_index
            });
            if let Some(asked) = asked {
                answers.push((asked.clone(), answer(data)));
            }
        }
    }
    answers
}

fn answer(data: PartitionData) -> Answer {
    let batches = match data.records {
        Some(Records::Bytes(bytes)) => bytes,
        _ => bytes::Bytes::new(),
    };
    Answer {
        code: ErrorCode::from_code(data.error_code),
        high_watermark: data.high_watermark,
        truncated_to: (data.diverging_epoch.end_offset >= 0).then_some(data.diverging_epoch.end_offset),
        fetched: Fetched::new(batches, data.aborted_transactions),
    }
}
