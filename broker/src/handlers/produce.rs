//! Produce (0), versions 3 to 13 (advertised from 0): appends one batch to each partition.
//!
//! Batches are written inline on the worker that read them. acks=all is answered by the sync thread that made the
//! last of its batches durable; acks=1 after the write; acks=0 not at all, and an error then closes the connection.
//! A client may send the next request before the last is answered; answers keep the order. Left out: transactional
//! batches are refused with INVALID_TXN_STATE until there is a transaction coordinator.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pillion_wire::messages::produce::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, TopicProduceData, TopicProduceResponse,
};
use pillion_wire::messages::{ProduceRequest, ProduceResponse};
use pillion_wire::{ErrorCode, Records};

use super::waiting;
use crate::broker::BrokerState;
use crate::catalogue::Topic;
use crate::clock::now_ms;
use crate::dispatch::{Call, Flow};
use crate::log::Appended;
use crate::network::Responder;
use crate::partition::validate::{Admission, Rejection, admit};
use crate::partition::{AppendError, Partition};

const ACKS_ALL: i16 = -1;
const ACKS_NONE: i16 = 0;
const ACKS_LEADER: i16 = 1;

/// Appends at once, unless the disk is behind.
pub(crate) fn handle(call: Call, request: ProduceRequest) -> Flow {
    let broker = &call.broker;
    if broker.partitions.dirty.is_over() {
        return waiting(async move {
            call.broker.partitions.dirty.below_limit().await;
            produce(call, request);
        });
    }
    if request.topic_data.iter().any(|data| may_take_long(broker, data)) {
        return super::blocking(move || produce(call, request));
    }
    produce(call, request);
    Flow::Done
}

fn find_topic(broker: &BrokerState, data: &TopicProduceData) -> Option<Arc<Topic>> {
    if data.topic_id.is_nil() {
        broker.topics.by_name(&data.name)
    } else {
        broker.topics.snapshot().by_id(&data.topic_id).cloned()
    }
}

/// Whether the disk is slow, or records must be decompressed to see their keys: a small batch may hold very much.
fn may_take_long(broker: &BrokerState, data: &TopicProduceData) -> bool {
    let Some(topic) = find_topic(broker, data) else { return false };
    let is_slow =
        |data: &PartitionProduceData| topic.partition(data.index).is_some_and(|partition| partition.is_slow());
    topic.config.is_compacted() || data.partition_data.iter().any(is_slow)
}

/// What became of one partition's batch.
enum Outcome {
    Appended(Arc<Partition>, Appended),
    Refused(PartitionProduceResponse),
}

fn produce(call: Call, request: ProduceRequest) {
    let mut appended = Vec::new();
    let mut responses = Vec::with_capacity(request.topic_data.len());
    for data in request.topic_data {
        let topic = find_topic(&call.broker, &data);
        let mut partition_responses = Vec::with_capacity(data.partition_data.len());
        for partition_data in data.partition_data {
            let index = partition_data.index;
            let outcome = append(&call, topic.as_deref(), partition_data, request.acks);
            partition_responses.push(match outcome {
                Outcome::Refused(response) => response,
                Outcome::Appended(partition, batch) => {
                    let log_start_offset = partition.offsets().log_start_offset;
                    appended.push((responses.len(), partition_responses.len(), partition, batch.next_offset));
                    let base_offset = batch.base_offset;
                    PartitionProduceResponse { index, base_offset, log_start_offset, ..Default::default() }
                }
            });
        }
        responses.push(TopicProduceResponse { name: data.name, topic_id: data.topic_id, partition_responses });
    }
    let response = ProduceResponse { responses, ..ProduceResponse::default() };
    match request.acks {
        ACKS_ALL => answer_when_durable(call.responder, response, appended),
        ACKS_NONE => {
            let failed = response.responses.iter().flat_map(|topic| &topic.partition_responses);
            if failed.into_iter().any(|partition| partition.error_code != 0) {
                call.responder.close();
            } else {
                call.responder.silent();
            }
        }
        _ => call.responder.answer(&response),
    }
}

fn append(call: &Call, topic: Option<&Topic>, data: PartitionProduceData, acks: i16) -> Outcome {
    let index = data.index;
    let refuse = |code: ErrorCode, message: Option<String>| Outcome::Refused(refusal(index, code, message));
    if !matches!(acks, ACKS_ALL | ACKS_NONE | ACKS_LEADER) {
        return refuse(ErrorCode::InvalidRequiredAcks, None);
    }
    let Some(topic) = topic else {
        let by_id = call.version() >= 13;
        return refuse(if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition }, None);
    };
    let Some(partition) = topic.partition(index) else { return refuse(ErrorCode::UnknownTopicOrPartition, None) };
    let records = match data.records {
        Some(Records::Bytes(bytes)) => bytes,
        _ => Bytes::new(),
    };
    let header = match admit(&records, &admission(call, topic)) {
        Ok(header) if header.is_transactional() => {
            return refuse(ErrorCode::InvalidTxnState, Some("transactions are not supported yet".to_owned()));
        }
        Ok(header) => header,
        Err(rejection) => return Outcome::Refused(rejected(index, rejection)),
    };
    match partition.append(&records, header) {
        Ok(appended) => Outcome::Appended(Arc::clone(partition), appended),
        Err(error) => {
            let code = ErrorCode::from(&error);
            if code == ErrorCode::KafkaStorageError {
                tracing::warn!(topic = %topic.name, partition = index, %error, "a batch was not appended");
            }
            refuse(code, Some(error.to_string()))
        }
    }
}

fn admission(call: &Call, topic: &Topic) -> Admission {
    Admission {
        batch_bytes_max: topic.config.batch_bytes_max(),
        keys_required: topic.config.is_compacted(),
        timestamp_before_ms_max: topic.config.timestamp_before_ms_max(),
        timestamp_after_ms_max: topic.config.timestamp_after_ms_max(),
        now_ms: now_ms(),
        produce_version: call.version(),
    }
}

fn refusal(index: i32, code: ErrorCode, message: Option<String>) -> PartitionProduceResponse {
    PartitionProduceResponse {
        index,
        error_code: code.code(),
        base_offset: -1,
        error_message: message,
        ..PartitionProduceResponse::default()
    }
}

fn rejected(index: i32, rejection: Rejection) -> PartitionProduceResponse {
    let of_record = |batch_index: i32| BatchIndexAndErrorMessage {
        batch_index,
        batch_index_error_message: Some(rejection.message.clone()),
    };
    let record_errors = rejection.records.iter().copied().map(of_record).collect();
    PartitionProduceResponse { record_errors, ..refusal(index, rejection.code, Some(rejection.message.clone())) }
}

/// An answer that some partitions' syncs still have to confirm.
struct Pending {
    responder: Option<Responder>,
    response: ProduceResponse,
    waiting: usize,
}

/// Answers once every batch is durable or failed; each is named by its place in the response.
fn answer_when_durable(
    responder: Responder,
    response: ProduceResponse,
    appended: Vec<(usize, usize, Arc<Partition>, i64)>,
) {
    if appended.is_empty() {
        return responder.answer(&response);
    }
    let waiting = appended.len();
    let pending = Arc::new(Mutex::new(Pending { responder: Some(responder), response, waiting }));
    for (topic, place, partition, next_offset) in appended {
        let pending = Arc::clone(&pending);
        partition.when_durable(next_offset, Box::new(move |result| settle(&pending, topic, place, result)));
    }
}

fn settle(pending: &Mutex<Pending>, topic: usize, place: usize, result: Result<(), AppendError>) {
    let mut pending = pending.lock();
    if let Err(error) = result {
        let response = &mut pending.response.responses[topic].partition_responses[place];
        *response = refusal(response.index, (&error).into(), Some(error.to_string()));
    }
    pending.waiting -= 1;
    if pending.waiting == 0
        && let Some(responder) = pending.responder.take()
    {
        responder.answer(&pending.response);
    }
}
