//! What OffsetCommit and TxnOffsetCommit have in common: topics and partitions that do not exist are refused one by
//! one, the others are committed, and the results go where they were asked for.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use uuid::Uuid;

use crate::catalogue::TopicsSnapshot;
use crate::groups::event::PartitionOffset;
use crate::groups::record::CommittedOffset;

/// A topic's offsets as a request brings them.
pub(super) struct AskedTopic {
    /// As asked; empty in versions that name topics by id.
    pub(super) name: String,
    /// As asked; nil in versions that name topics by name.
    pub(super) topic_id: Uuid,
    /// In the request's order.
    pub(super) partitions: Vec<AskedPartition>,
}

/// A partition's offset as a request brings it.
pub(super) struct AskedPartition {
    pub(super) index: i32,
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) metadata: Option<String>,
}

/// How a request names topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    ByName,
    ById,
}

/// What to answer for each topic; partitions not refused yet have `None`.
pub(super) struct Outcome {
    name: String,
    topic_id: Uuid,
    partitions: Vec<(i32, Option<ErrorCode>)>,
}

/// A topic's results.
pub(super) struct TopicResult {
    pub(super) name: String,
    pub(super) topic_id: Uuid,
    /// Index and error code.
    pub(super) partitions: Vec<(i32, i16)>,
}

/// Puts existing partitions among the offsets to commit, and refuses the others.
pub(super) fn sort(
    topics: &TopicsSnapshot,
    naming: Naming,
    expire_timestamp_ms: Option<i64>,
    asked: impl Iterator<Item = AskedTopic>,
) -> (Vec<Outcome>, Vec<PartitionOffset>) {
    let mut offsets = Vec::new();
    let outcomes = asked
        .map(|AskedTopic { name, topic_id, partitions }| {
            let (found, unknown) = match naming {
                Naming::ByName => (topics.by_name(&name), ErrorCode::UnknownTopicOrPartition),
                Naming::ById => (topics.by_id(&topic_id), ErrorCode::UnknownTopicId),
            };
            let mut outcome = Outcome { name, topic_id, partitions: Vec::with_capacity(partitions.len()) };
            for partition in partitions {
                let refusal = match found {
                    None => Some(unknown),
                    Some(topic) if topic.partition(partition.index).is_none() => {
                        Some(ErrorCode::UnknownTopicOrPartition)
                    }
                    Some(_) => None,
                };
                outcome.partitions.push((partition.index, refusal));
                if let (Some(topic), None) = (found, refusal) {
                    offsets.push(offset(&topic.name, topic_id, expire_timestamp_ms, partition));
                }
            }
            outcome
        })
        .collect();
    (outcomes, offsets)
}

fn offset(
    topic: &Arc<str>,
    topic_id: Uuid,
    expire_timestamp_ms: Option<i64>,
    asked: AskedPartition,
) -> PartitionOffset {
    PartitionOffset {
        topic: Arc::clone(topic),
        partition: asked.index,
        committed: CommittedOffset {
            offset: asked.offset,
            leader_epoch: asked.leader_epoch,
            metadata: Arc::from(asked.metadata.unwrap_or_default()),
            commit_timestamp_ms: 0,
            expire_timestamp_ms,
            topic_id,
        },
    }
}

/// Fills in the results of those that were not refused, in their order, or one error for all of them.
pub(super) fn fill(outcomes: Vec<Outcome>, results: Result<&[ErrorCode], ErrorCode>) -> Vec<TopicResult> {
    let mut committed = results.unwrap_or_default().iter();
    let mut result = || match results {
        Ok(_) => committed.next().copied().unwrap_or(ErrorCode::UnknownServerError),
        Err(error) => error,
    };
    let mut partition =
        |(index, refusal): (i32, Option<ErrorCode>)| (index, refusal.unwrap_or_else(&mut result).code());
    outcomes
        .into_iter()
        .map(|Outcome { name, topic_id, partitions }| TopicResult {
            name,
            topic_id,
            partitions: partitions.into_iter().map(&mut partition).collect(),
        })
        .collect()
}
