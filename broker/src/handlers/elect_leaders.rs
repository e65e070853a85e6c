//! ElectLeaders (43), versions 0 to 2: elections, of which one node needs none.
//!
//! Each partition is led by the only replica it has. Asked for all partitions, a broker answers those that had an
//! election, or failed to.

use pillion_wire::ErrorCode;
use pillion_wire::messages::elect_leaders::{PartitionResult, ReplicaElectionResult, TopicPartitions};
use pillion_wire::messages::{ElectLeadersRequest, ElectLeadersResponse};

use crate::catalogue::TopicsSnapshot;
use crate::dispatch::{Call, Flow};

/// Preferred and unclean.
const ELECTION_TYPES: [i8; 2] = [0, 1];

/// Answers.
pub(crate) fn handle(call: Call, request: ElectLeadersRequest) -> Flow {
    let topics = call.broker.topics.snapshot();
    let unknown = (!ELECTION_TYPES.contains(&request.election_type)).then(|| {
        let message = format!("election type {} is not known", request.election_type);
        (ErrorCode::InvalidRequest, message)
    });
    let result = |asked: &TopicPartitions| {
        let partition = |index: &i32| {
            let (code, message) = unknown.clone().unwrap_or_else(|| outcome(&topics, &asked.topic, *index));
            PartitionResult { partition_id: *index, error_code: code.code(), error_message: Some(message) }
        };
        let partition_result = asked.partitions.iter().map(partition).collect();
        ReplicaElectionResult { topic: asked.topic.clone(), partition_result }
    };
    let replica_election_results = match &request.topic_partitions {
        Some(asked) => asked.iter().map(result).collect(),
        None => topics.sorted().iter().map(|topic| none_held(&topic.name)).collect(),
    };
    // Version 0 has no place for an error of the whole.
    let error_code = unknown.as_ref().filter(|_| call.version() >= 1).map_or(0, |(code, _)| code.code());
    call.answer(&ElectLeadersResponse { throttle_time_ms: 0, error_code, replica_election_results })
}

fn none_held(topic: &str) -> ReplicaElectionResult {
    ReplicaElectionResult { topic: topic.to_owned(), partition_result: Vec::new() }
}

/// Messages name neither topic nor partition: a long name would be told once for each of thousands of partitions.
fn outcome(topics: &TopicsSnapshot, name: &str, index: i32) -> (ErrorCode, String) {
    match topics.by_name(name) {
        None => (ErrorCode::UnknownTopicOrPartition, "there is no such topic".to_owned()),
        Some(topic) if topic.partition(index).is_none() => {
            (ErrorCode::UnknownTopicOrPartition, "there is no such partition".to_owned())
        }
        Some(_) => (ErrorCode::ElectionNotNeeded, "the only replica leads".to_owned()),
    }
}
