//! CreateTopics (19), versions 2 to 7: makes topics, each with its own outcome.
//!
//! Replication factor is 1 or unsaid, for there is one node; an assignment may name only it. Settings are checked
//! against the topic settings' table.

use std::collections::HashMap;

use pillion_wire::ErrorCode;
use pillion_wire::messages::create_topics::{CreatableTopic, CreatableTopicConfigs, CreatableTopicResult};
use pillion_wire::messages::{CreateTopicsRequest, CreateTopicsResponse};

use super::blocking;
use super::describe_configs::BrokerSettings;
use crate::broker::{BrokerState, TopicSpec};
use crate::catalogue::{Topic, check_topic_name};
use crate::dispatch::{Call, Flow};
use crate::topic_config::{TOPIC_CONFIG_KEYS, TopicConfig};

/// Partitions one topic may have: a bound, not a recommendation.
pub(super) const PARTITIONS_MAX: i32 = 100_000;
/// DescribeConfigs' and this API's number for "set on the topic".
const SOURCE_TOPIC: i8 = 1;

type Refusal = (ErrorCode, String);

/// Makes the topics and answers once they are durable.
pub(crate) fn handle(call: Call, request: CreateTopicsRequest) -> Flow {
    blocking(move || {
        let response = CreateTopicsResponse { throttle_time_ms: 0, topics: create(&call.broker, request) };
        call.answer(&response);
    })
}

fn create(broker: &BrokerState, request: CreateTopicsRequest) -> Vec<CreatableTopicResult> {
    let mut times_named: HashMap<String, usize> = HashMap::new();
    for topic in &request.topics {
        *times_named.entry(topic.name.clone()).or_default() += 1;
    }
    let mut specs = Vec::new();
    let mut results: Vec<_> = request
        .topics
        .into_iter()
        .map(|topic| {
            let name = topic.name.clone();
            let checked = if times_named.get(&name).is_some_and(|times| *times > 1) {
                Err((ErrorCode::InvalidRequest, "the topic is named twice in the request".to_owned()))
            } else {
                check(broker, topic)
            };
            match checked {
                Ok(spec) => {
                    specs.push(spec);
                    CreatableTopicResult { name, configs: None, error_message: None, ..Default::default() }
                }
                Err(refusal) => refused(name, refusal),
            }
        })
        .collect();
    let accepted = results.iter_mut().filter(|result| result.error_code == 0);
    if request.validate_only {
        for (result, spec) in accepted.zip(specs) {
            describe(broker, result, spec.partitions, &spec.config);
        }
        return results;
    }
    for (result, made) in accepted.zip(broker.create_topics(specs)) {
        match made {
            Ok(topic) => describe_topic(broker, result, &topic),
            Err(error) => *result = refused(std::mem::take(&mut result.name), ((&error).into(), error.to_string())),
        }
    }
    results
}

fn check(broker: &BrokerState, topic: CreatableTopic) -> Result<TopicSpec, Refusal> {
    check_topic_name(&topic.name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    if broker.topics.by_name(&topic.name).is_some() {
        return Err((ErrorCode::TopicAlreadyExists, format!("topic '{}' already exists", topic.name)));
    }
    let partitions = partitions(broker, &topic)?;
    let configs = topic.configs.into_iter().filter_map(|config| Some((config.name, config.value?)));
    let config = TopicConfig::new(configs, &broker.config.topic_defaults())
        .map_err(|error| (ErrorCode::InvalidConfig, error.to_string()))?;
    Ok(TopicSpec { name: topic.name, partitions, config })
}

fn partitions(broker: &BrokerState, topic: &CreatableTopic) -> Result<i32, Refusal> {
    if !topic.assignments.is_empty() {
        if topic.num_partitions != -1 || topic.replication_factor != -1 {
            let message = "an assignment and a number of partitions or replicas exclude each other".to_owned();
            return Err((ErrorCode::InvalidRequest, message));
        }
        let mut indexes: Vec<_> = topic.assignments.iter().map(|assignment| assignment.partition_index).collect();
        indexes.sort_unstable();
        let contiguous = indexes.iter().zip(0..).all(|(index, expected)| *index == expected);
        let here = topic.assignments.iter().all(|assignment| assignment.broker_ids == [broker.config.node_id]);
        if !contiguous || !here {
            let message = format!("partitions are numbered from 0 and assigned to node {}", broker.config.node_id);
            return Err((ErrorCode::InvalidReplicaAssignment, message));
        }
        return Ok(indexes.len() as i32);
    }
    if !matches!(topic.replication_factor, -1 | 1) {
        let message = format!("replication factor {} is not possible on one node; use 1", topic.replication_factor);
        return Err((ErrorCode::InvalidReplicationFactor, message));
    }
    match topic.num_partitions {
        -1 => Ok(broker.config.default_partitions),
        number if (1..=PARTITIONS_MAX).contains(&number) => Ok(number),
        number => Err((ErrorCode::InvalidPartitions, format!("{number} partitions are not 1 to {PARTITIONS_MAX}"))),
    }
}

fn refused(name: String, (code, message): Refusal) -> CreatableTopicResult {
    CreatableTopicResult {
        name,
        error_code: code.code(),
        error_message: Some(message),
        configs: None,
        ..CreatableTopicResult::default()
    }
}

fn describe_topic(broker: &BrokerState, result: &mut CreatableTopicResult, topic: &Topic) {
    result.topic_id = topic.id;
    describe(broker, result, topic.partitions.len() as i32, &topic.config);
}

fn describe(broker: &BrokerState, result: &mut CreatableTopicResult, partitions: i32, config: &TopicConfig) {
    result.num_partitions = partitions;
    result.replication_factor = 1;
    let (defaults, settings) = (broker.config.topic_defaults(), BrokerSettings::of(&broker.config));
    let entry = |key: &crate::topic_config::TopicConfigKey| {
        let set = config.entries().get(key.name);
        CreatableTopicConfigs {
            name: key.name.to_owned(),
            value: Some(set.cloned().unwrap_or_else(|| (key.show)(&defaults))),
            read_only: false,
            config_source: if set.is_some() { SOURCE_TOPIC } else { settings.source_of(key) },
            is_sensitive: false,
        }
    };
    result.configs = Some(TOPIC_CONFIG_KEYS.iter().map(entry).collect());
}
