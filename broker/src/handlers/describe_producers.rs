//! DescribeProducers (61), version 0: which idempotent and transactional producers a partition remembers (KIP-664).

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_producers::{PartitionResponse, ProducerState, TopicRequest, TopicResponse};
use pillion_wire::messages::{DescribeProducersRequest, DescribeProducersResponse};

use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::log::ProducerSnapshotEntry;

/// Answers from memory.
pub(crate) fn handle(call: Call, request: DescribeProducersRequest) -> Flow {
    let mut seen = HashSet::new();
    let topics = request.topics.iter().map(|topic| of_topic(&call.broker, topic, &mut seen)).collect();
    call.answer(&DescribeProducersResponse { topics, ..DescribeProducersResponse::default() })
}

/// A partition named again, which is in `seen`, is not told again: each may have thousands of producers.
fn of_topic<'a>(broker: &BrokerState, asked: &'a TopicRequest, seen: &mut HashSet<(&'a str, i32)>) -> TopicResponse {
    let topic = broker.topics.by_name(&asked.name);
    let partitions = asked
        .partition_indexes
        .iter()
        .copied()
        .filter(|index| seen.insert((&asked.name, *index)))
        .map(|index| match topic.as_ref().and_then(|topic| topic.partition(index)) {
            Some(partition) => PartitionResponse {
                partition_index: index,
                active_producers: partition.producers().into_iter().map(of_producer).collect(),
                ..PartitionResponse::default()
            },
            None => PartitionResponse {
                partition_index: index,
                error_code: ErrorCode::UnknownTopicOrPartition.code(),
                error_message: Some("this server does not host this topic-partition".to_owned()),
                ..PartitionResponse::default()
            },
        })
        .collect();
    TopicResponse { name: asked.name.clone(), partitions }
}

fn of_producer(entry: ProducerSnapshotEntry) -> ProducerState {
    ProducerState {
        producer_id: entry.producer_id,
        producer_epoch: entry.producer_epoch.into(),
        last_sequence: entry.last_sequence,
        last_timestamp: entry.timestamp,
        coordinator_epoch: entry.coordinator_epoch,
        current_txn_start_offset: entry.current_transaction_first_offset,
    }
}
