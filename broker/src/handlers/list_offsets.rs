//! ListOffsets (2), versions 1 to 11: offsets by timestamp, or special ones.
//!
//! −1 latest, −2 earliest, −3 the record with the largest timestamp (KIP-734), −4 earliest on local disk, −5 latest
//! in tiered storage and −6 earliest not uploaded yet: there is no tiered storage, so −4 and −6 are the earliest and
//! −5 is unknown. Looking inside batches may wait for the disk, so a request with a timestamp leaves the event loop.

use pillion_wire::ErrorCode;
use pillion_wire::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use pillion_wire::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::blocking;
use super::leader_epoch::check_leader_epoch;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::log::TimestampedOffset;
use crate::partition::{Isolation, Partition};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;
const EARLIEST_PENDING_UPLOAD: i64 = -6;

/// Answers at once, or from a blocking thread when records must be looked at.
pub(crate) fn handle(call: Call, request: ListOffsetsRequest) -> Flow {
    let looks_inside =
        |partition: &ListOffsetsPartition| partition.timestamp >= 0 || partition.timestamp == MAX_TIMESTAMP;
    if request.topics.iter().flat_map(|topic| &topic.partitions).any(looks_inside) {
        return blocking(move || {
            let response = list(&call.broker, &request, call.version());
            call.answer(&response);
        });
    }
    let response = list(&call.broker, &request, call.version());
    call.answer(&response)
}

fn list(broker: &BrokerState, request: &ListOffsetsRequest, version: i16) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|asked| {
        let topic = broker.topics.by_name(&asked.name);
        let partitions = asked.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let held = topic.as_ref().and_then(|topic| topic.partition(index));
            let found = held.ok_or(ErrorCode::UnknownTopicOrPartition).and_then(|held| {
                check_leader_epoch(partition.current_leader_epoch, broker.leader_epoch())?;
                find(held, partition.timestamp, request.isolation_level)
            });
            match found {
                Ok((found, leader_epoch)) => ListOffsetsPartitionResponse {
                    partition_index: index,
                    error_code: 0,
                    timestamp: found.timestamp,
                    offset: found.offset,
                    // The field came with version 4 and may not be dropped silently.
                    leader_epoch: if version >= 4 { leader_epoch } else { -1 },
                },
                Err(code) => ListOffsetsPartitionResponse {
                    partition_index: index,
                    error_code: code.code(),
                    ..ListOffsetsPartitionResponse::default()
                },
            }
        });
        ListOffsetsTopicResponse { name: asked.name.clone(), partitions: partitions.collect() }
    });
    ListOffsetsResponse { throttle_time_ms: 0, topics: topics.collect() }
}

/// The offset and the epoch of the record there; −1 for what there is not.
fn find(partition: &Partition, timestamp: i64, isolation_level: i8) -> Result<(TimestampedOffset, i32), ErrorCode> {
    let offsets = partition.offsets();
    let end = if isolation_level == 1 { offsets.last_stable_offset } else { offsets.high_watermark };
    let isolation = if isolation_level == 1 { Isolation::ReadCommitted } else { Isolation::ReadUncommitted };
    let at = |offset| TimestampedOffset { offset, timestamp: -1 };
    match timestamp {
        LATEST => Ok((at(end), partition.latest_epoch())),
        EARLIEST | EARLIEST_LOCAL | EARLIEST_PENDING_UPLOAD => {
            Ok((at(offsets.log_start_offset), partition.epoch_at(offsets.log_start_offset)))
        }
        LATEST_TIERED => Ok((at(-1), -1)),
        MAX_TIMESTAMP => Ok(record(partition, partition.with_max_timestamp(isolation))?),
        timestamp if timestamp >= 0 => Ok(record(partition, partition.first_at_or_after(timestamp, isolation))?),
        _ => Err(ErrorCode::InvalidRequest),
    }
}

fn record(
    partition: &Partition,
    found: Result<Option<TimestampedOffset>, crate::log::LogError>,
) -> Result<(TimestampedOffset, i32), ErrorCode> {
    match found {
        Ok(Some(found)) => Ok((found, partition.epoch_at(found.offset))),
        Ok(None) => Ok((TimestampedOffset { offset: -1, timestamp: -1 }, -1)),
        Err(error) => {
            tracing::error!(topic = %partition.topic(), partition = partition.index(), %error, "cannot look for a timestamp");
            Err((&error).into())
        }
    }
}
