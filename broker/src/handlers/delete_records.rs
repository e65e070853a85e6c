//! DeleteRecords (21), versions 0 to 2: raises log start offsets; the records below are gone for every reader.
//!
//! Only on topics whose old records may be deleted anyway: on one that is compacted without `delete` it is a
//! POLICY_VIOLATION, on the broker's own an INVALID_TOPIC_EXCEPTION, as with Kafka. The timeout is not looked at, for
//! there is no replica to wait for. Readers see a log's new start once it is on disk; where it cannot be written, all
//! stays as it was and the answer is KAFKA_STORAGE_ERROR.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsTopic, DeleteRecordsTopicResult,
};
use pillion_wire::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use super::blocking;
use crate::broker::BrokerState;
use crate::catalogue::Topic;
use crate::clock::now_ms;
use crate::dispatch::{Call, Flow};
use crate::error_codes::in_words;
use crate::partition::Partition;

/// What stands for the log start offset where there is an error.
const NO_OFFSET: i64 = -1;

/// Deletes and answers once that is durable.
pub(crate) fn handle(call: Call, request: DeleteRecordsRequest) -> Flow {
    blocking(move || {
        // One deletion at a time: what one of them plans another must not give up.
        let held = call.broker.hold_changes();
        let topics = call.broker.topics.snapshot();
        let answer = |asked: DeleteRecordsTopic| {
            let topic = topics.by_name(&asked.name);
            let partitions = asked.partitions.iter().map(|partition| {
                let (low_watermark, error_code) = match plan(topic.map(AsRef::as_ref), partition) {
                    Ok(log_start_offset) => (log_start_offset, ErrorCode::None),
                    Err(code) => (NO_OFFSET, code),
                };
                let (partition_index, error_code) = (partition.partition_index, error_code.code());
                DeleteRecordsPartitionResult { partition_index, low_watermark, error_code }
            });
            let partitions = partitions.collect();
            DeleteRecordsTopicResult { name: asked.name, partitions }
        };
        let mut topics: Vec<_> = request.topics.into_iter().map(answer).collect();
        make_durable(&call.broker, &mut topics);
        drop(held);
        remove_segments(&call.broker, &topics);
        call.answer(&DeleteRecordsResponse { throttle_time_ms: 0, topics });
    })
}

/// Writes the new log starts down and lets readers see them; an error takes every success back.
fn make_durable(broker: &BrokerState, results: &mut [DeleteRecordsTopicResult]) {
    if changed(broker, results).next().is_none() {
        return;
    }
    let written = broker.write_checkpoints();
    changed(broker, results).for_each(|partition| partition.end_plan(written.is_ok()));
    let Err(error) = written else { return };
    // Some of it may be on disk: it is taken back as far as the disk lets it.
    let _ = broker.write_checkpoints();
    tracing::warn!(error = in_words(&error), "cannot write down where logs start");
    for result in results.iter_mut().flat_map(|topic| &mut topic.partitions).filter(|result| is_changed(result)) {
        (result.low_watermark, result.error_code) = (NO_OFFSET, ErrorCode::KafkaStorageError.code());
    }
}

/// Deletes the segments below the new starts. What cannot be deleted now is deleted in the next round of retention.
fn remove_segments(broker: &BrokerState, results: &[DeleteRecordsTopicResult]) {
    for partition in changed(broker, results) {
        if let Err(error) = partition.remove_segments(now_ms()) {
            let topic = partition.topic();
            tracing::warn!(%topic, partition = partition.index(), error = in_words(&error), "cannot delete old segments");
        }
    }
}

/// The partitions whose deletion was not refused.
fn changed(broker: &BrokerState, results: &[DeleteRecordsTopicResult]) -> impl Iterator<Item = Arc<Partition>> {
    let topics = broker.topics.snapshot();
    results.iter().flat_map(move |result| {
        let topic = topics.by_name(&result.name).cloned();
        let changed = result.partitions.iter().filter(|result| is_changed(result));
        changed.filter_map(move |result| topic.as_ref()?.partition(result.partition_index).cloned())
    })
}

fn is_changed(result: &DeleteRecordsPartitionResult) -> bool {
    result.error_code == ErrorCode::None.code()
}

fn plan(topic: Option<&Topic>, asked: &DeleteRecordsPartition) -> Result<i64, ErrorCode> {
    let topic = topic.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let partition = topic.partition(asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if topic.is_internal() {
        return Err(ErrorCode::InvalidTopicException);
    }
    let policy = topic.config.cleanup_policy();
    if policy.compact && !policy.delete {
        return Err(ErrorCode::PolicyViolation);
    }
    partition.plan_start(asked.offset).map_err(|error| {
        let code = ErrorCode::from(&error);
        if code == ErrorCode::KafkaStorageError {
            tracing::warn!(topic = %topic.name, partition = asked.partition_index, %error, "cannot delete records");
        }
        code
    })
}
