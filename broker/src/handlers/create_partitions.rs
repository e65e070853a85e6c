//! CreatePartitions (37), versions 0 to 3: adds partitions to topics, each topic with its own outcome.
//!
//! Assignments may name this node only. A topic named twice is refused once, as Kafka does. Keys go to other partitions afterwards, as with Kafka; the broker's own topics
//! find their records by the number of partitions, and are refused.

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::create_partitions::{
    CreatePartitionsAssignment, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use pillion_wire::messages::{CreatePartitionsRequest, CreatePartitionsResponse};

use super::alter_partition_reassignments::check_replicas;
use super::blocking;
use super::config_resources::{Refusal, coded, once, times_named};
use super::create_topics::PARTITIONS_MAX;
use crate::broker::{BrokerState, TopicChangeError};
use crate::dispatch::{Call, Flow};
use crate::error_codes::in_words;

/// Adds the partitions and answers once that is durable.
pub(crate) fn handle(call: Call, request: CreatePartitionsRequest) -> Flow {
    blocking(move || {
        let named = times_named(request.topics.iter().map(|topic| topic.name.clone()));
        let is_too_large = partitions_wanted(&call.broker, &request.topics) > PARTITIONS_MAX;
        let answer = |topic: CreatePartitionsTopic| {
            let outcome = once(&named, &topic.name).and_then(|()| {
                if is_too_large {
                    return Err((
                        ErrorCode::PolicyViolation,
                        format!("a request adds up to {PARTITIONS_MAX} partitions"),
                    ));
                }
                add(&call.broker, &topic, request.validate_only)
            });
            let (error_code, error_message) = coded(outcome);
            CreatePartitionsTopicResult { name: topic.name, error_code, error_message }
        };
        let mut seen = HashSet::new();
        let topics = request.topics.into_iter().filter(|topic| seen.insert(topic.name.clone()));
        let results = topics.map(answer).collect();
        call.answer(&CreatePartitionsResponse { throttle_time_ms: 0, results });
    })
}

/// Partitions that all topics of a request are to get.
fn partitions_wanted(broker: &BrokerState, topics: &[CreatePartitionsTopic]) -> i64 {
    let topics = topics.iter().filter_map(|asked| Some((broker.topics.by_name(&asked.name)?, asked.count)));
    topics.map(|(topic, count)| (i64::from(count) - topic.partitions.len() as i64).max(0)).sum()
}

fn add(broker: &BrokerState, asked: &CreatePartitionsTopic, validate_only: bool) -> Result<(), Refusal> {
    let Some(topic) = broker.topics.by_name(&asked.name) else {
        return Err((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned()));
    };
    if topic.is_internal() {
        return Err((ErrorCode::InvalidRequest, "the broker's own topics keep their partitions".to_owned()));
    }
    let (held, count) = (topic.partitions.len() as i32, asked.count);
    if count <= held {
        return Err((ErrorCode::InvalidPartitions, format!("the topic has {held} partitions, {count} are not more")));
    }
    if let Some(assignments) = &asked.assignments {
        check_assignments(broker.config.node_id, assignments, count - held)?;
    }
    if validate_only {
        return Ok(());
    }
    broker.add_partitions(&asked.name, count).map_err(|error| match &error {
        TopicChangeError::Exists(_) => (ErrorCode::InvalidPartitions, error.to_string()),
        other => {
            tracing::warn!(topic = asked.name, error = in_words(&error), "cannot add partitions");
            (other.into(), in_words(&error))
        }
    })
}

fn check_assignments(node_id: i32, assignments: &[CreatePartitionsAssignment], added: i32) -> Result<(), Refusal> {
    assignments.iter().try_for_each(|assignment| check_replicas(node_id, &assignment.broker_ids))?;
    if assignments.len() == added as usize {
        return Ok(());
    }
    let message = format!("{added} partitions are added, and {} are assigned", assignments.len());
    Err((ErrorCode::InvalidReplicaAssignment, message))
}
