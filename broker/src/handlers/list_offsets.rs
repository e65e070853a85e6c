//! ListOffsets (2), versions 1 to 11: offsets by timestamp, or special ones.
//!
//! −1 latest, −2 earliest, −3 the record with the largest timestamp (KIP-734, version 7), −4 earliest on local disk
//! (version 8), −5 latest in tiered storage (version 9) and −6 earliest not uploaded yet (version 11): there is no
//! tiered storage, so −4 is the earliest, and −5 and −6 are unknown. An older version or another negative number gets
//! UNSUPPORTED_VERSION, as Kafka 4.4 answers, even for a partition that is not there. What a reader of committed
//! records cannot fetch yet is not found. Looking inside batches may wait for the disk, so a request with a timestamp
//! leaves the event loop.

use std::collections::HashSet;

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
    let repeated = repeated(request);
    let topics = request.topics.iter().map(|asked| {
        let topic = broker.topics.by_name(&asked.name);
        let partitions = asked.partitions.iter().map(|partition| {
            let index = partition.partition_index;
            let held = topic.as_ref().and_then(|topic| topic.partition(index));
            let found = check_version(partition.timestamp, version)
                .and_then(|()| match repeated.contains(&(asked.name.as_str(), index)) {
                    true => Err(ErrorCode::InvalidRequest),
                    false => Ok(()),
                })
                .and_then(|()| held.ok_or(ErrorCode::UnknownTopicOrPartition))
                .and_then(|held| {
                    check_leader_epoch(partition.current_leader_epoch, broker.leader_epoch())?;
                    let found = find(held, partition.timestamp, Isolation::from_level(request.isolation_level));
                    found.map(|(found, epoch)| (found, epoch.unwrap_or(broker.leader_epoch())))
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

/// Partitions that a request names more than once, which Kafka refuses: each may take a look into a batch.
fn repeated(request: &ListOffsetsRequest) -> HashSet<(&str, i32)> {
    let mut seen = HashSet::new();
    let named = request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.partition_index)));
    named.filter(|partition| !seen.insert(*partition)).collect()
}

/// Whether the special number was known in this version.
fn check_version(timestamp: i64, version: i16) -> Result<(), ErrorCode> {
    let since = match timestamp {
        LATEST | EARLIEST | 0.. => 1,
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        EARLIEST_PENDING_UPLOAD => 11,
        _ => return Err(ErrorCode::UnsupportedVersion),
    };
    if version < since { Err(ErrorCode::UnsupportedVersion) } else { Ok(()) }
}

/// The offset and the epoch of the record there, −1 for what there is not; no epoch where no record ever was, for there
/// the current one holds.
fn find(
    partition: &Partition,
    timestamp: i64,
    isolation: Isolation,
) -> Result<(TimestampedOffset, Option<i32>), ErrorCode> {
    let offsets = partition.offsets();
    let end = match isolation {
        Isolation::ReadUncommitted => offsets.high_watermark,
        Isolation::ReadCommitted => offsets.last_stable_offset,
    };
    let at = |offset| TimestampedOffset { offset, timestamp: -1 };
    let known = |epoch: i32| Some(epoch).filter(|epoch| *epoch >= 0);
    let found = match timestamp {
        LATEST => return Ok((at(end), known(partition.latest_epoch()))),
        EARLIEST | EARLIEST_LOCAL => {
            return Ok((at(offsets.log_start_offset), known(partition.epoch_at(offsets.log_start_offset))));
        }
        MAX_TIMESTAMP => partition.with_max_timestamp(isolation),
        timestamp if timestamp >= 0 => partition.first_at_or_after(timestamp, isolation),
        _ => Ok(None),
    };
    match found {
        Ok(Some(found)) if found.offset < end => Ok((found, Some(partition.epoch_at(found.offset)))),
        Ok(_) => Ok((at(-1), Some(-1))),
        Err(error) => {
            let (topic, index) = (partition.topic(), partition.index());
            tracing::error!(%topic, partition = index, %error, "cannot look for a timestamp");
            Err((&error).into())
        }
    }
}
