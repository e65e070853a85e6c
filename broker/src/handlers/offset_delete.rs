//! OffsetDelete (47), version 0: committed offsets go, of topics that the group does not read (KIP-496).
//!
//! Answered once that is durable. Topics and partitions that do not exist are UNKNOWN_TOPIC_OR_PARTITION, topics that
//! members read GROUP_SUBSCRIBED_TO_TOPIC; what was never committed is deleted without more ado.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::offset_delete::{
    OffsetDeleteRequestTopic, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use pillion_wire::messages::{OffsetDeleteRequest, OffsetDeleteResponse};

use crate::dispatch::{Call, Flow};
use crate::groups::action::Answer;
use crate::groups::event::{DeleteOffsets, WaiterId};
use crate::network::Responder;

/// Deletes what exists, and answers with the rest refused.
pub(crate) fn handle(call: Call, request: OffsetDeleteRequest) -> Flow {
    let topics = call.broker.topics.snapshot();
    let exists =
        |topic: &str, partition| topics.by_name(topic).is_some_and(|topic| topic.partition(partition).is_some());
    let mut partitions: Vec<(Arc<str>, i32)> = Vec::new();
    for topic in &request.topics {
        let name: Arc<str> = Arc::from(topic.name.as_str());
        let existing = topic.partitions.iter().filter(|partition| exists(&name, partition.partition_index));
        partitions.extend(existing.map(|partition| (Arc::clone(&name), partition.partition_index)));
    }
    let is_existing: Vec<bool> = request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| exists(&topic.name, partition.partition_index)))
        .collect();
    let responder = call.responder;
    let group_id: Arc<str> = Arc::from(request.group_id);
    let shard = match call.broker.groups.shard(&group_id) {
        Ok(_) if group_id.is_empty() => Err(ErrorCode::InvalidGroupId),
        found => found,
    };
    let shard = match shard {
        Ok(shard) => shard,
        Err(error) => {
            refuse(responder, error);
            return Flow::Done;
        }
    };
    let asked = request.topics;
    let reply = move |outcome: Result<Answer, _>| match outcome {
        Ok(Answer::DeleteOffsets(Ok(results))) => answer(responder, asked, &is_existing, &results),
        Ok(Answer::DeleteOffsets(Err(error))) | Err(error) => refuse(responder, error),
        // The responder closes the connection: there is nothing true to say.
        Ok(_) => tracing::error!("OffsetDelete was answered as another request"),
    };
    let deletion = move |waiter: WaiterId| DeleteOffsets { waiter, partitions };
    shard.delete_offsets(&group_id, deletion, Box::new(reply));
    Flow::Done
}

/// Fills in the results of those that exist, in their order.
fn answer(responder: Responder, asked: Vec<OffsetDeleteRequestTopic>, is_existing: &[bool], results: &[ErrorCode]) {
    let (mut is_existing, mut results) = (is_existing.iter(), results.iter());
    let mut result = || match is_existing.next() {
        Some(true) => results.next().copied().unwrap_or(ErrorCode::UnknownServerError),
        _ => ErrorCode::UnknownTopicOrPartition,
    };
    let mut partition =
        |partition_index| OffsetDeleteResponsePartition { partition_index, error_code: result().code() };
    let topic = |OffsetDeleteRequestTopic { name, partitions }| OffsetDeleteResponseTopic {
        name,
        partitions: partitions.into_iter().map(|asked| partition(asked.partition_index)).collect(),
    };
    let topics = asked.into_iter().map(topic).collect();
    responder.answer(&OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() });
}

/// An error for the whole request.
fn refuse(responder: Responder, error: ErrorCode) {
    responder.answer(&OffsetDeleteResponse { error_code: error.code(), ..OffsetDeleteResponse::default() });
}
