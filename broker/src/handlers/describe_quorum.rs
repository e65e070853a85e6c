//! DescribeQuorum (55), versions 0 to 2: who keeps the metadata: this node alone, in its catalogue.
//!
//! Kafka's name for the metadata's log is answered for, for that is what tools ask for; its end is the catalogue's.

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_quorum::{Listener, Node, PartitionData, ReplicaState, TopicData, TopicRequest};
use pillion_wire::messages::{DescribeQuorumRequest, DescribeQuorumResponse};

use super::blocking;
use crate::clock::now_ms;
use crate::dispatch::{Call, Flow};

const METADATA_TOPIC: &str = "__cluster_metadata";

/// Answers; the catalogue may be busy with a change for a while.
pub(crate) fn handle(call: Call, request: DescribeQuorumRequest) -> Flow {
    blocking(move || {
        let response = describe(&call, &request);
        call.answer(&response);
    })
}

fn describe(call: &Call, request: &DescribeQuorumRequest) -> DescribeQuorumResponse {
    if !is_the_metadata(&request.topics) {
        let topics = request.topics.iter().map(unknown).collect();
        return DescribeQuorumResponse { topics, ..DescribeQuorumResponse::default() };
    }
    let (broker, listener, now_ms) = (&call.broker, &call.session.listener, now_ms());
    let (node_id, end) = (broker.config.node_id, broker.catalogue.end_offset());
    let voter = ReplicaState {
        replica_id: node_id,
        replica_directory_id: broker.directory_id,
        log_end_offset: end,
        last_fetch_timestamp: now_ms,
        last_caught_up_timestamp: now_ms,
    };
    let partition = PartitionData {
        leader_id: node_id,
        leader_epoch: broker.leader_epoch(),
        high_watermark: end,
        current_voters: vec![voter],
        ..PartitionData::default()
    };
    let (host, port) = (listener.advertised_host.clone(), listener.advertised_port);
    let listeners = vec![Listener { name: listener.name.clone(), host, port }];
    DescribeQuorumResponse {
        topics: vec![TopicData { topic_name: METADATA_TOPIC.to_owned(), partitions: vec![partition] }],
        nodes: vec![Node { node_id, listeners }],
        ..DescribeQuorumResponse::default()
    }
}

/// Whether the metadata's only partition is asked for, and nothing else.
fn is_the_metadata(topics: &[TopicRequest]) -> bool {
    match topics {
        [topic] => {
            let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
            topic.topic_name == METADATA_TOPIC && partitions.eq([0])
        }
        _ => false,
    }
}

fn unknown(topic: &TopicRequest) -> TopicData {
    let partitions = topic.partitions.iter().map(|partition| PartitionData {
        partition_index: partition.partition_index,
        error_code: ErrorCode::UnknownTopicOrPartition.code(),
        error_message: Some(format!("only {METADATA_TOPIC}-0 has a quorum")),
        ..PartitionData::default()
    });
    TopicData { topic_name: topic.topic_name.clone(), partitions: partitions.collect() }
}
