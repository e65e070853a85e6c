//! AlterPartitionReassignments (45), versions 0 to 1: gives partitions to other nodes, of which there is none.
//!
//! To stay on this node a partition may be asked; there is nothing under way to be taken back.

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::alter_partition_reassignments::{
    ReassignablePartition, ReassignablePartitionResponse, ReassignableTopic, ReassignableTopicResponse,
};
use pillion_wire::messages::{AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse};

use super::config_resources::{Refusal, coded};
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: AlterPartitionReassignmentsRequest) -> Flow {
    let topic = |asked: &ReassignableTopic| {
        let partition = |partition: &ReassignablePartition| {
            let (error_code, error_message) = coded(reassign(&call.broker, &asked.name, partition));
            ReassignablePartitionResponse { partition_index: partition.partition_index, error_code, error_message }
        };
        let partitions = asked.partitions.iter().map(partition).collect();
        ReassignableTopicResponse { name: asked.name.clone(), partitions }
    };
    let responses = request.topics.iter().map(topic).collect();
    let response = AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: request.allow_replication_factor_change,
        error_message: None,
        responses,
        ..AlterPartitionReassignmentsResponse::default()
    };
    call.answer(&response)
}

fn reassign(broker: &BrokerState, name: &str, asked: &ReassignablePartition) -> Result<(), Refusal> {
    let index = asked.partition_index;
    let held = broker.topics.by_name(name).and_then(|topic| topic.partition(index).cloned());
    if held.is_none() {
        return Err((ErrorCode::UnknownTopicOrPartition, "there is no such partition".to_owned()));
    }
    match &asked.replicas {
        None => Err((ErrorCode::NoReassignmentInProgress, "nothing is under way".to_owned())),
        Some(replicas) => check_replicas(broker.config.node_id, replicas),
    }
}

/// Refuses replicas that are not one, on this node.
pub(super) fn check_replicas(node_id: i32, replicas: &[i32]) -> Result<(), Refusal> {
    let refuse = |message: String| Err((ErrorCode::InvalidReplicaAssignment, message));
    let mut seen = HashSet::new();
    if replicas.is_empty() {
        return refuse("a partition needs a replica".to_owned());
    }
    if let Some(other) = replicas.iter().find(|node| **node != node_id) {
        return refuse(format!("there is no node {other}: node {node_id} is the only one"));
    }
    match replicas.iter().find(|node| !seen.insert(**node)) {
        Some(twice) => refuse(format!("node {twice} is named twice")),
        None => Ok(()),
    }
}
