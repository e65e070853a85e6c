//! OffsetCommit (8), versions 2 to 10: where a group goes on reading; topics by name, from version 10 on by id.
//!
//! Answered once the offsets are durable. Topics and partitions that do not exist are refused one by one. Versions 2 to
//! 4 may bring a retention of their own, which is kept to.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::offset_commit::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use pillion_wire::messages::{OffsetCommitRequest, OffsetCommitResponse};
use uuid::Uuid;

use crate::catalogue::{Topic, TopicsSnapshot};
use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;
use crate::groups::event::{Commit, PartitionOffset, WaiterId};
use crate::groups::record::CommittedOffset;
use crate::network::Responder;

/// What to answer for each topic; partitions not refused yet have `None`.
struct Outcome {
    name: String,
    topic_id: Uuid,
    partitions: Vec<(i32, Option<ErrorCode>)>,
}

/// Commits what exists, and answers with the rest refused.
pub(crate) fn handle(call: Call, request: OffsetCommitRequest) -> Flow {
    let version = call.version();
    let expire_timestamp_ms = match request.retention_time_ms {
        ..0 => None,
        retention_ms => Some(crate::clock::now_ms().saturating_add(retention_ms)),
    };
    let topics = call.broker.topics.snapshot();
    let mut offsets = Vec::new();
    let outcomes: Vec<Outcome> = request
        .topics
        .into_iter()
        .map(|topic| sort(&topics, version, topic, expire_timestamp_ms, &mut offsets))
        .collect();
    let responder = call.responder;
    if offsets.is_empty() {
        answer(responder, outcomes, Ok(&[]));
        return Flow::Done;
    }
    let group_id: Arc<str> = Arc::from(request.group_id);
    let shard = match call.broker.groups.shard(&group_id) {
        Ok(shard) => shard,
        Err(error) => {
            answer(responder, outcomes, Err(error));
            return Flow::Done;
        }
    };
    let commit = move |waiter: WaiterId| Commit {
        waiter,
        member_id: Arc::from(request.member_id),
        group_instance_id: request.group_instance_id.map(Arc::from),
        generation: request.generation_id_or_member_epoch,
        knows_group_id_not_found: version >= 9,
        offsets,
    };
    let reply = move |outcome: Result<Answer, _>| match outcome {
        Ok(Answer::Commit(results)) => answer(responder, outcomes, Ok(&results)),
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("OffsetCommit was answered as another request"),
        Err(error) => answer(responder, outcomes, Err(error)),
    };
    shard.commit(&group_id, commit, Box::new(reply));
    Flow::Done
}

/// Puts a topic's existing partitions among the offsets to commit, and refuses the others.
fn sort(
    topics: &TopicsSnapshot,
    version: i16,
    asked: OffsetCommitRequestTopic,
    expire_timestamp_ms: Option<i64>,
    offsets: &mut Vec<PartitionOffset>,
) -> Outcome {
    let (found, unknown) = match version {
        ..10 => (topics.by_name(&asked.name), ErrorCode::UnknownTopicOrPartition),
        _ => (topics.by_id(&asked.topic_id), ErrorCode::UnknownTopicId),
    };
    let partitions = asked
        .partitions
        .into_iter()
        .map(|partition| {
            let index = partition.partition_index;
            let Some(topic) = found else { return (index, Some(unknown)) };
            if topic.partition(index).is_none() {
                return (index, Some(ErrorCode::UnknownTopicOrPartition));
            }
            offsets.push(offset(topic, partition, asked.topic_id, expire_timestamp_ms));
            (index, None)
        })
        .collect();
    Outcome { name: asked.name, topic_id: asked.topic_id, partitions }
}

fn offset(
    topic: &Topic,
    asked: OffsetCommitRequestPartition,
    topic_id: Uuid,
    expire_timestamp_ms: Option<i64>,
) -> PartitionOffset {
    PartitionOffset {
        topic: Arc::clone(&topic.name),
        partition: asked.partition_index,
        committed: CommittedOffset {
            offset: asked.committed_offset,
            leader_epoch: asked.committed_leader_epoch,
            metadata: Arc::from(asked.committed_metadata.unwrap_or_default()),
            commit_timestamp_ms: 0,
            expire_timestamp_ms,
            topic_id,
        },
    }
}

/// Fills in the results of those that were not refused, in their order, or one error for all of them.
fn answer(responder: Responder, outcomes: Vec<Outcome>, results: Result<&[ErrorCode], ErrorCode>) {
    let mut committed = results.unwrap_or_default().iter();
    let mut result = || match results {
        Ok(_) => committed.next().copied().unwrap_or(ErrorCode::UnknownServerError),
        Err(error) => error,
    };
    let topics = outcomes
        .into_iter()
        .map(|outcome| OffsetCommitResponseTopic {
            name: outcome.name,
            topic_id: outcome.topic_id,
            partitions: outcome
                .partitions
                .into_iter()
                .map(|(partition_index, refusal)| OffsetCommitResponsePartition {
                    partition_index,
                    error_code: refusal.unwrap_or_else(&mut result).code(),
                })
                .collect(),
        })
        .collect();
    responder.answer(&OffsetCommitResponse { throttle_time_ms: 0, topics });
}
