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

use super::commit_outcome::{AskedPartition, AskedTopic, Naming, Outcome, TopicResult, fill, sort};
use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;
use crate::groups::event::{Commit, WaiterId};
use crate::network::Responder;

/// Commits what exists, and answers with the rest refused.
pub(crate) fn handle(call: Call, request: OffsetCommitRequest) -> Flow {
    let version = call.version();
    let expire_timestamp_ms = match request.retention_time_ms {
        ..0 => None,
        retention_ms => Some(crate::clock::now_ms().saturating_add(retention_ms)),
    };
    let topics = call.broker.topics.snapshot();
    let naming = if version >= 10 { Naming::ById } else { Naming::ByName };
    let (outcomes, offsets) = sort(&topics, naming, expire_timestamp_ms, request.topics.into_iter().map(asked_topic));
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
        producer: None,
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

fn asked_topic(topic: OffsetCommitRequestTopic) -> AskedTopic {
    let partition = |partition: OffsetCommitRequestPartition| AskedPartition {
        index: partition.partition_index,
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata,
    };
    let partitions = topic.partitions.into_iter().map(partition).collect();
    AskedTopic { name: topic.name, topic_id: topic.topic_id, partitions }
}

fn answer(responder: Responder, outcomes: Vec<Outcome>, results: Result<&[ErrorCode], ErrorCode>) {
    let partition = |(partition_index, error_code)| OffsetCommitResponsePartition { partition_index, error_code };
    let topic = |TopicResult { name, topic_id, partitions }| OffsetCommitResponseTopic {
        name,
        topic_id,
        partitions: partitions.into_iter().map(partition).collect(),
    };
    let topics = fill(outcomes, results).into_iter().map(topic).collect();
    responder.answer(&OffsetCommitResponse { throttle_time_ms: 0, topics });
}
