//! CreateTopics (19), versions 2 to 7: makes topics, each with its own outcome.
//!
//! Replication factor is 1 or unsaid, for there is one node; an assignment may name only it. Settings are checked
//! against the topic settings' table. A topic named twice is refused once, as Kafka does.

use std::collections::{HashMap, HashSet};

use pillion_wire::ErrorCode;
use pillion_wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfigs, CreatableTopicResult,
};
use pillion_wire::messages::{CreateTopicsRequest, CreateTopicsResponse};

use super::alter_partition_reassignments::check_replicas;
use super::blocking;
use super::config_resources::{Refusal, once, times_named};
use super::describe_configs::Inherited;
use crate::broker::{BrokerState, NamesTaken, TopicSpec};
use crate::catalogue::{Topic, check_topic_name};
use crate::dispatch::{Call, Flow};
use crate::error_codes::in_words;
use crate::topic_config::TopicConfig;

/// Partitions one request may make, as with Kafka.
pub(super) const PARTITIONS_MAX: i64 = 10_000;
/// DescribeConfigs' and this API's number for "set on the topic".
const SOURCE_TOPIC: i8 = 1;

/// Makes the topics and answers once they are durable.
pub(crate) fn handle(call: Call, request: CreateTopicsRequest) -> Flow {
    blocking(move || {
        let response = CreateTopicsResponse { throttle_time_ms: 0, topics: create(&call.broker, request) };
        call.answer(&response);
    })
}

fn create(broker: &BrokerState, request: CreateTopicsRequest) -> Vec<CreatableTopicResult> {
    let named = times_named(request.topics.iter().map(|topic| topic.name.clone()));
    let is_too_large = partitions_wanted(broker, &request) > PARTITIONS_MAX;
    let names = NamesTaken::of(&broker.topics.snapshot());
    let mut seen = HashSet::new();
    let mut specs = Vec::new();
    let topics = request.topics.into_iter().filter(|topic| seen.insert(topic.name.clone()));
    let mut results: Vec<_> = topics
        .map(|topic| {
            let name = topic.name.clone();
            let checked = once(&named, &name).and_then(|()| {
                if is_too_large {
                    let message = format!("a request makes up to {PARTITIONS_MAX} partitions");
                    return Err((ErrorCode::PolicyViolation, message));
                }
                check(broker, &names, topic)
            });
            match checked {
                Ok(spec) => {
                    specs.push(spec);
                    CreatableTopicResult { name, configs: None, error_message: None, ..Default::default() }
                }
                Err(refusal) => refused(name, refusal),
            }
        })
        .collect();
    let inherited = Inherited::all(broker);
    let accepted = results.iter_mut().filter(|result| result.error_code == 0);
    if request.validate_only {
        for (result, spec) in accepted.zip(specs) {
            describe(result, spec.partitions, &spec.config, &inherited);
        }
        return results;
    }
    for (result, made) in accepted.zip(broker.create_topics(specs)) {
        match made {
            Ok(topic) => describe_topic(result, &topic, &inherited),
            Err(error) => {
                let (code, message) = (ErrorCode::from(&error), in_words(&error));
                if code == ErrorCode::KafkaStorageError {
                    tracing::warn!(topic = result.name, error = message, "cannot make a topic");
                }
                *result = refused(std::mem::take(&mut result.name), (code, message));
            }
        }
    }
    results
}

/// Partitions that all topics of a request are to have.
fn partitions_wanted(broker: &BrokerState, request: &CreateTopicsRequest) -> i64 {
    let of_topic = |topic: &CreatableTopic| match topic.num_partitions {
        _ if !topic.assignments.is_empty() => topic.assignments.len() as i64,
        -1 => i64::from(broker.config.default_partitions),
        number => i64::from(number.max(0)),
    };
    request.topics.iter().map(of_topic).sum()
}

fn check(broker: &BrokerState, names: &NamesTaken, topic: CreatableTopic) -> Result<TopicSpec, Refusal> {
    check_topic_name(&topic.name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    names.check(&broker.topics.snapshot(), &topic.name).map_err(|error| ((&error).into(), error.to_string()))?;
    let partitions = partitions(broker, &topic)?;
    let without_value = |name: &str| (ErrorCode::InvalidConfig, format!("{name} needs a value"));
    let configs = topic.configs.into_iter().map(|config| match config.value {
        Some(value) => Ok((config.name, value)),
        None => Err(without_value(&config.name)),
    });
    let configs = configs.collect::<Result<HashMap<_, _>, Refusal>>()?;
    let config = TopicConfig::new(configs, &broker.topic_defaults())
        .map_err(|error| (ErrorCode::InvalidConfig, error.to_string()))?;
    Ok(TopicSpec { name: topic.name, partitions, config })
}

fn partitions(broker: &BrokerState, topic: &CreatableTopic) -> Result<i32, Refusal> {
    if !topic.assignments.is_empty() {
        if topic.num_partitions != -1 || topic.replication_factor != -1 {
            let message = "an assignment and a number of partitions or replicas exclude each other".to_owned();
            return Err((ErrorCode::InvalidRequest, message));
        }
        return assigned(broker.config.node_id, &topic.assignments);
    }
    if !matches!(topic.replication_factor, -1 | 1) {
        let message = format!("replication factor {} is not possible on one node; use 1", topic.replication_factor);
        return Err((ErrorCode::InvalidReplicationFactor, message));
    }
    match topic.num_partitions {
        -1 => Ok(broker.config.default_partitions),
        number if number > 0 => Ok(number),
        number => Err((ErrorCode::InvalidPartitions, format!("a topic has at least one partition, not {number}"))),
    }
}

/// How many partitions an assignment gives to this node.
fn assigned(node_id: i32, assignments: &[CreatableReplicaAssignment]) -> Result<i32, Refusal> {
    let mut indexes: Vec<_> = assignments.iter().map(|assignment| assignment.partition_index).collect();
    indexes.sort_unstable();
    if !indexes.iter().zip(0..).all(|(index, expected)| *index == expected) {
        let message = "partitions are numbered from 0, without gaps, each once".to_owned();
        return Err((ErrorCode::InvalidReplicaAssignment, message));
    }
    assignments.iter().try_for_each(|assignment| check_replicas(node_id, &assignment.broker_ids))?;
    Ok(indexes.len() as i32)
}

fn refused(name: String, (code, message): Refusal) -> CreatableTopicResult {
    CreatableTopicResult {
        name,
        error_code: code.code(),
        error_message: Some(message),
        num_partitions: -1,
        replication_factor: -1,
        configs: Some(Vec::new()),
        ..CreatableTopicResult::default()
    }
}

fn describe_topic(result: &mut CreatableTopicResult, topic: &Topic, inherited: &[Inherited]) {
    result.topic_id = topic.id;
    describe(result, topic.partitions.len() as i32, &topic.config, inherited);
}

fn describe(result: &mut CreatableTopicResult, partitions: i32, config: &TopicConfig, inherited: &[Inherited]) {
    result.num_partitions = partitions;
    result.replication_factor = 1;
    let entry = |inherited: &Inherited| {
        let set = config.entries().get(inherited.key.name);
        CreatableTopicConfigs {
            name: inherited.key.name.to_owned(),
            value: Some(set.unwrap_or(&inherited.value).clone()),
            read_only: false,
            config_source: if set.is_some() { SOURCE_TOPIC } else { inherited.source() },
            is_sensitive: false,
        }
    };
    result.configs = Some(inherited.iter().map(entry).collect());
}
