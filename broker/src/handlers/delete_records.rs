//! DeleteRecords (21), versions 0 to 2: raises log start offsets; the records below are gone for every reader.
//!
//! Only on topics whose old records may be deleted anyway: on one that is compacted without `delete` it is a
//! POLICY_VIOLATION, on the broker's own an INVALID_TOPIC_EXCEPTION, as with Kafka. The timeout is not looked at, for
//! there is no replica to wait for.

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

/// What stands for the log start offset where there is an error.
const NO_OFFSET: i64 = -1;

/// Deletes and answers once that is durable.
pub(crate) fn handle(call: Call, request: DeleteRecordsRequest) -> Flow {
    blocking(move || {
        let topics = call.broker.topics.snapshot();
        let answer = |asked: DeleteRecordsTopic| {
            let topic = topics.by_name(&asked.name);
            let partitions = asked.partitions.iter().map(|partition| {
                let (low_watermark, error_code) = match delete(topic.map(AsRef::as_ref), partition) {
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
        call.answer(&DeleteRecordsResponse { throttle_time_ms: 0, topics });
    })
}

/// Writes the new log starts down, then deletes what is below; an error takes every success back.
fn make_durable(broker: &BrokerState, results: &mut [DeleteRecordsTopicResult]) {
    let changed = |result: &&mut DeleteRecordsPartitionResult| result.error_code == ErrorCode::None.code();
    let any = results.iter_mut().any(|topic| topic.partitions.iter_mut().any(|result| changed(&result)));
    if !any {
        return;
    }
    if let Err(error) = broker.write_checkpoints() {
        tracing::warn!(error = in_words(&error), "cannot write down where logs start");
        for result in results.iter_mut().flat_map(|topic| &mut topic.partitions).filter(changed) {
            (result.low_watermark, result.error_code) = (NO_OFFSET, ErrorCode::KafkaStorageError.code());
        }
        return;
    }
    let topics = broker.topics.snapshot();
    for result in results {
        let Some(topic) = topics.by_name(&result.name) else { continue };
        let partitions = result.partitions.iter().filter_map(|result| topic.partition(result.partition_index));
        for partition in partitions {
            if let Err(error) = partition.remove_segments(now_ms()) {
                tracing::warn!(topic = %topic.name, partition = partition.index(), %error, "cannot delete old segments");
            }
        }
    }
}

fn delete(topic: Option<&Topic>, asked: &DeleteRecordsPartition) -> Result<i64, ErrorCode> {
    let topic = topic.ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let partition = topic.partition(asked.partition_index).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    if topic.is_internal() {
        return Err(ErrorCode::InvalidTopicException);
    }
    let policy = topic.config.cleanup_policy();
    if policy.compact && !policy.delete {
        return Err(ErrorCode::PolicyViolation);
    }
    partition.delete_records(asked.offset).map_err(|error| {
        let code = ErrorCode::from(&error);
        if code == ErrorCode::KafkaStorageError {
            tracing::warn!(topic = %topic.name, partition = asked.partition_index, %error, "cannot delete records");
        }
        code
    })
}
