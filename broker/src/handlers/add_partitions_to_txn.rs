//! AddPartitionsToTxn (24), versions 0 to 5: takes partitions into transactions.
//!
//! Clients send one transaction, up to version 3; from version 4 on there may be several, and some only to be verified.
//! If a partition of a transaction does not exist, none of it is taken in, and the others are answered with
//! OPERATION_NOT_ATTEMPTED. Before version 2, PRODUCER_FENCED is called INVALID_PRODUCER_EPOCH.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::add_partitions_to_txn::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult, AddPartitionsToTxnTransaction,
};
use pillion_wire::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};

use super::fenced_since;
use super::gathering::Gathering;
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::transactions::action::Answer;
use crate::transactions::event::{AddPartitions, ProducerIdentity, Protocol, TopicPartition};

/// The version from which on there is PRODUCER_FENCED.
const FENCED_SINCE: i16 = 2;
/// The version from which on there may be several transactions, whose clients give each an epoch.
const SEVERAL_SINCE: i16 = 4;

/// Answers once every transaction has.
pub(crate) fn handle(call: Call, request: AddPartitionsToTxnRequest) -> Flow {
    let version = call.version();
    let transactions = match version {
        SEVERAL_SINCE.. => request.transactions,
        _ => vec![AddPartitionsToTxnTransaction {
            transactional_id: request.v3_and_below_transactional_id,
            producer_id: request.v3_and_below_producer_id,
            producer_epoch: request.v3_and_below_producer_epoch,
            verify_only: false,
            topics: request.v3_and_below_topics,
        }],
    };
    let responder = call.responder;
    let results = Arc::new(Gathering::new(transactions.len(), move |results: Vec<AddPartitionsToTxnResult>| {
        responder.answer(&response(version, results));
    }));
    for (place, transaction) in transactions.into_iter().enumerate() {
        let results = Arc::clone(&results);
        ask(&call.broker, transaction, version, Box::new(move |result| results.put(place, result)));
    }
    Flow::Done
}

fn response(version: i16, mut results: Vec<AddPartitionsToTxnResult>) -> AddPartitionsToTxnResponse {
    let mut response = AddPartitionsToTxnResponse::default();
    if version >= SEVERAL_SINCE {
        response.results_by_transaction = results;
    } else if let Some(result) = results.pop() {
        response.results_by_topic_v3_and_below = result.topic_results;
    }
    response
}

/// Asks about one transaction.
fn ask(
    broker: &BrokerState,
    transaction: AddPartitionsToTxnTransaction,
    version: i16,
    settle: Box<dyn FnOnce(AddPartitionsToTxnResult) + Send>,
) {
    let AddPartitionsToTxnTransaction { transactional_id, producer_id, producer_epoch, verify_only, topics } =
        transaction;
    let topics_served = broker.topics.snapshot();
    let exists =
        |topic: &str, index: i32| topics_served.by_name(topic).is_some_and(|topic| topic.partition(index).is_some());
    let is_unknown =
        |topic: &AddPartitionsToTxnTopic| topic.partitions.iter().any(|index| !exists(&topic.name, *index));
    if topics.iter().any(is_unknown) {
        return settle(result_of(transactional_id, &topics, |topic, index| match exists(topic, index) {
            true => ErrorCode::OperationNotAttempted,
            false => ErrorCode::UnknownTopicOrPartition,
        }));
    }
    let producer = ProducerIdentity { id: producer_id, epoch: producer_epoch };
    let id: Arc<str> = Arc::from(&*transactional_id);
    let shard = match broker.transactions.shard(&id) {
        Ok(shard) => shard,
        Err(error) => return settle(result_of(transactional_id, &topics, |_, _| error)),
    };
    if verify_only {
        let verify = |topic: &str, index: i32| match shard.verify(&id, producer, &(Arc::from(topic), index)) {
            Ok(()) => ErrorCode::None,
            // Brokers that ask so hand the answer to clients that know this code (KIP-890).
            Err(ErrorCode::InvalidTxnState) => ErrorCode::TransactionAbortable,
            Err(error) => error,
        };
        return settle(result_of(transactional_id, &topics, verify));
    }
    let partitions = topics.iter().flat_map(|topic| {
        let name: Arc<str> = Arc::from(&*topic.name);
        topic.partitions.iter().map(move |index| (Arc::clone(&name), *index))
    });
    let partitions: Vec<TopicPartition> = partitions.collect();
    let protocol = if version >= SEVERAL_SINCE { Protocol::EpochBump } else { Protocol::Classic };
    let add = |waiter| AddPartitions { waiter, producer, protocol, partitions };
    let reply = move |outcome: Result<Answer, ErrorCode>| {
        let code = match outcome {
            Ok(Answer::Added) => ErrorCode::None,
            Ok(Answer::Refused(error)) | Err(error) => fenced_since(FENCED_SINCE, version, error),
            Ok(_) => ErrorCode::UnknownServerError,
        };
        settle(result_of(transactional_id, &topics, |_, _| code));
    };
    shard.add_partitions(&id, add, Box::new(reply));
}

/// The results of a transaction's partitions, as `code_of` has them.
fn result_of(
    transactional_id: String,
    topics: &[AddPartitionsToTxnTopic],
    code_of: impl Fn(&str, i32) -> ErrorCode,
) -> AddPartitionsToTxnResult {
    let of_topic = |topic: &AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name.clone(),
        results_by_partition: topic
            .partitions
            .iter()
            .map(|index| AddPartitionsToTxnPartitionResult {
                partition_index: *index,
                partition_error_code: code_of(&topic.name, *index).code(),
            })
            .collect(),
    };
    AddPartitionsToTxnResult { transactional_id, topic_results: topics.iter().map(of_topic).collect() }
}
