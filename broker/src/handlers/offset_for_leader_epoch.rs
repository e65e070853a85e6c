//! OffsetForLeaderEpoch (23), versions 2 to 4: where an epoch's records end, so that a consumer which read past a
//! truncation notices (KIP-320).

use pillion_wire::ErrorCode;
use pillion_wire::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderPartition, OffsetForLeaderTopicResult,
};
use pillion_wire::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::leader_epoch::check_leader_epoch;
use crate::catalogue::Topic;
use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: OffsetForLeaderEpochRequest) -> Flow {
    let leader_epoch = call.broker.leader_epoch();
    let topics = request.topics.into_iter().map(|asked| {
        let topic = call.broker.topics.by_name(&asked.topic);
        let partitions = asked.partitions.iter().map(|partition| {
            let (code, epoch, end_offset) = match end_of_epoch(topic.as_deref(), partition, leader_epoch) {
                Ok((epoch, end_offset)) => (ErrorCode::None, epoch, end_offset),
                Err(code) => (code, -1, -1),
            };
            let (error_code, partition) = (code.code(), partition.partition);
            EpochEndOffset { error_code, partition, leader_epoch: epoch, end_offset }
        });
        let partitions = partitions.collect();
        OffsetForLeaderTopicResult { topic: asked.topic, partitions }
    });
    let topics = topics.collect();
    call.answer(&OffsetForLeaderEpochResponse { throttle_time_ms: 0, topics })
}

/// The epoch's end; the current epoch ends at the log's end even before its first record.
fn end_of_epoch(
    topic: Option<&Topic>,
    asked: &OffsetForLeaderPartition,
    leader_epoch: i32,
) -> Result<(i32, i64), ErrorCode> {
    let partition = topic.and_then(|topic| topic.partition(asked.partition));
    let partition = partition.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    check_leader_epoch(asked.current_leader_epoch, leader_epoch)?;
    if asked.leader_epoch == leader_epoch {
        return Ok((leader_epoch, partition.offsets().high_watermark));
    }
    Ok(partition.end_of_epoch(asked.leader_epoch).unwrap_or((-1, -1)))
}
