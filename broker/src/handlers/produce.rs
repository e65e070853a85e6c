//! Produce (0), versions 3 to 13 (advertised from 0): appends one batch to each partition.
//!
//! Batches are written inline on the worker that read them, unless the disk is slow or they must be decompressed or
//! compressed first. acks=all is answered by the sync thread that made the last of its batches durable; acks=1 after
//! the write; acks=0 not at all, and an error then closes the connection. A client may send the next request before the
//! last is answered; answers keep the order. What a transactional batch is asked for is in `transactional`. Left out: a
//! retry's `log_append_time_ms` is its own, not the first one's.

mod transactional;

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parking_lot::Mutex;
use pillion_wire::messages::produce::{
    BatchIndexAndErrorMessage, PartitionProduceData, PartitionProduceResponse, TopicProduceData, TopicProduceResponse,
};
use pillion_wire::messages::{ProduceRequest, ProduceResponse};
use pillion_wire::records::TimestampType;
use pillion_wire::{ErrorCode, Records};
use tokio::sync::Semaphore;

use super::{off_the_loop, waiting};
use crate::broker::BrokerState;
use crate::catalogue::Topic;
use crate::clock::now_ms;
use crate::dispatch::{Call, Flow};
use crate::log::Appended;
use crate::network::Responder;
use crate::partition::validate::{Admission, Rejection, admit};
use crate::partition::{AppendError, Partition};
use crate::spans;
use transactional::Gate;

/// Records at fault that an answer names, all batches together: a hundred bytes can hold thousands of them.
const RECORDS_NAMED_MAX: usize = 1_000;
const ACKS_ALL: i16 = -1;
const ACKS_NONE: i16 = 0;
const ACKS_LEADER: i16 = 1;

/// Requests whose batches are decompressed or compressed at once, over all connections: each may take
/// [`DECOMPRESSED_BYTES_MAX`](pillion_wire::records::DECOMPRESSED_BYTES_MAX) twice.
static UNPACKING: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Semaphore::new(cores.clamp(2, 8))
});

/// What a request's appends wait for.
#[derive(Clone, Copy)]
enum Way {
    /// Nothing: they go through on the event loop.
    Inline,
    /// A slow disk.
    SlowDisk,
    /// Codecs.
    Unpacking,
}

/// Appends at once, unless the disk is behind.
pub(crate) fn handle(call: Call, request: ProduceRequest) -> Flow {
    let way = request.topic_data.iter().fold(Way::Inline, |way, data| way.and(way_of(&call, data)));
    let addition = transactional::addition(&call, &request);
    let is_over = call.broker.partitions.dirty.is_over();
    if addition.is_some() || is_over {
        return waiting(async move {
            if is_over {
                call.broker.partitions.dirty.below_limit().await;
            }
            let gate = match addition {
                Some(addition) => addition.take_in(&call.broker).await,
                None => Gate::Verify,
            };
            go(way, call, request, gate).await;
        });
    }
    if let Way::Inline = way {
        produce(call, request, Gate::Verify);
        return Flow::Done;
    }
    waiting(go(way, call, request, Gate::Verify))
}

async fn go(way: Way, call: Call, request: ProduceRequest, gate: Gate) {
    let _permit = match way {
        Way::Inline => return produce(call, request, gate),
        Way::SlowDisk => None,
        Way::Unpacking => UNPACKING.acquire().await.ok(),
    };
    off_the_loop(move || produce(call, request, gate)).await;
}

impl Way {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unpacking, _) | (_, Self::Unpacking) => Self::Unpacking,
            (Self::SlowDisk, _) | (_, Self::SlowDisk) => Self::SlowDisk,
            (Self::Inline, Self::Inline) => Self::Inline,
        }
    }
}

fn find_topic(broker: &BrokerState, data: &TopicProduceData) -> Option<Arc<Topic>> {
    if data.topic_id.is_nil() {
        broker.topics.by_name(&data.name)
    } else {
        broker.topics.snapshot().by_id(&data.topic_id).cloned()
    }
}

/// What one topic's appends wait for.
fn way_of(call: &Call, data: &TopicProduceData) -> Way {
    let Some(topic) = find_topic(&call.broker, data) else { return Way::Inline };
    let admission = admission(call, &topic);
    let of_partition = |data: &PartitionProduceData| match &data.records {
        Some(Records::Bytes(records)) if admission.takes_long(records) => Way::Unpacking,
        _ if topic.partition(data.index).is_some_and(|partition| partition.is_slow()) => Way::SlowDisk,
        _ => Way::Inline,
    };
    data.partition_data.iter().fold(Way::Inline, |way, data| way.and(of_partition(data)))
}

/// What became of one partition's batch.
enum Outcome {
    Appended {
        partition: Arc<Partition>,
        appended: Appended,
        /// Milliseconds since 1970, when the topic's timestamps are the broker's; −1 when they are the producer's.
        log_append_time_ms: i64,
        span: Option<spans::Written>,
    },
    Refused(PartitionProduceResponse),
}

fn produce(call: Call, request: ProduceRequest, gate: Gate) {
    let transactional_id: Option<Arc<str>> = request.transactional_id.map(Arc::from);
    let (mut appended, mut spans) = (Vec::new(), Vec::new());
    let mut responses = Vec::with_capacity(request.topic_data.len());
    let mut records_named_left = RECORDS_NAMED_MAX;
    for data in request.topic_data {
        let topic = find_topic(&call.broker, &data);
        let mut partition_responses = Vec::with_capacity(data.partition_data.len());
        for partition_data in data.partition_data {
            let index = partition_data.index;
            let outcome =
                append(&call, topic.as_deref(), partition_data, request.acks, transactional_id.as_ref(), gate);
            partition_responses.push(match outcome {
                Outcome::Refused(mut response) => {
                    response.record_errors.truncate(records_named_left);
                    records_named_left -= response.record_errors.len();
                    response
                }
                Outcome::Appended {
                    partition,
                    appended: Appended { base_offset, next_offset },
                    log_append_time_ms,
                    span,
                } => {
                    spans.extend(span);
                    let log_start_offset = partition.offsets().log_start_offset;
                    appended.push((responses.len(), partition_responses.len(), partition, next_offset));
                    PartitionProduceResponse {
                        index,
                        base_offset,
                        log_append_time_ms,
                        log_start_offset,
                        ..Default::default()
                    }
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
    // Behind the answer in the partition's order, too.
    spans.into_iter().for_each(spans::Written::finish_when_durable);
}

fn append(
    call: &Call,
    topic: Option<&Topic>,
    data: PartitionProduceData,
    acks: i16,
    transactional_id: Option<&Arc<str>>,
    gate: Gate,
) -> Outcome {
    let index = data.index;
    let refuse = |code: ErrorCode, message: Option<String>| Outcome::Refused(refusal(index, code, message));
    if !matches!(acks, ACKS_ALL | ACKS_NONE | ACKS_LEADER) {
        return refuse(ErrorCode::InvalidRequiredAcks, None);
    }
    let Some(topic) = topic else {
        let by_id = call.version() >= 13;
        return refuse(if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition }, None);
    };
    if topic.is_internal() {
        let message = "only the broker writes to this topic".to_owned();
        return refuse(ErrorCode::InvalidTopicException, Some(message));
    }
    let Some(partition) = topic.partition(index) else { return refuse(ErrorCode::UnknownTopicOrPartition, None) };
    let records = match data.records {
        Some(Records::Bytes(bytes)) => bytes,
        _ => Bytes::new(),
    };
    let admission = admission(call, topic);
    let (header, batch) = match admit(&records, &admission) {
        Ok(admitted) => admitted,
        Err(rejection) => return Outcome::Refused(rejected(index, rejection)),
    };
    let log_append_time_ms = match header.timestamp_type() {
        TimestampType::CreateTime => -1,
        TimestampType::LogAppendTime => header.max_timestamp,
    };
    let begun = call.broker.spans.begin(&header, &batch);
    let appended = if header.is_transactional() {
        transactional::append(call, partition, &batch, header, transactional_id, gate)
    } else {
        partition.append(&batch, header).map_err(|error| (ErrorCode::from(&error), error.to_string()))
    };
    match appended {
        Ok(appended) => Outcome::Appended {
            partition: Arc::clone(partition),
            span: begun.map(|begun| begun.written(partition, appended)),
            appended,
            log_append_time_ms,
        },
        Err((code, message)) => {
            if code == ErrorCode::KafkaStorageError {
                tracing::warn!(topic = %topic.name, partition = index, error = message, "a batch was not appended");
            }
            refuse(code, Some(message))
        }
    }
}

fn admission(call: &Call, topic: &Topic) -> Admission {
    Admission {
        batch_bytes_max: topic.config.batch_bytes_max(),
        decompressed_bytes_max: topic.config.decompressed_bytes_max(),
        keys_required: topic.config.is_compacted(),
        timestamp_type: topic.config.timestamp_type(),
        timestamp_before_ms_max: topic.config.timestamp_before_ms_max(),
        timestamp_after_ms_max: topic.config.timestamp_after_ms_max(),
        compression: topic.config.compression(),
        compression_level: topic.config.compression_level(),
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
