//! Metadata (3), versions 0 to 13: brokers, topics, partitions and leaders.
//!
//! This node leads everything, under the address of the listener the question came by. Unknown topics are made when
//! the client and `auto.create.topics.enable` allow it. Permitted operations are not told (there is no authorizer
//! yet): the field keeps its "not asked" value.

use std::collections::HashSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::metadata::{
    MetadataRequestTopic, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use pillion_wire::messages::{MetadataRequest, MetadataResponse};

use super::blocking;
use crate::broker::{BrokerState, TopicSpec};
use crate::catalogue::{Topic, check_topic_name, is_internal};
use crate::dispatch::{Call, Flow};
use crate::topic_config::TopicConfig;

/// Answers at once, or after making topics.
pub(crate) fn handle(call: Call, request: MetadataRequest) -> Flow {
    let missing = missing_topics(&call, &request);
    if missing.is_empty() {
        let response = describe(&call, &request);
        return call.answer(&response);
    }
    blocking(move || {
        for made in call.broker.create_topics(missing) {
            if let Err(error) = made {
                tracing::warn!(%error, "cannot make a topic on first use");
            }
        }
        let response = describe(&call, &request);
        call.answer(&response);
    })
}

/// Topics to make: asked for by a valid name, unknown, and allowed to be made. The broker's own are made by those who
/// use them, with settings of their own.
fn missing_topics(call: &Call, request: &MetadataRequest) -> Vec<TopicSpec> {
    let broker = &call.broker;
    if !broker.config.auto_create_topics || !request.allow_auto_topic_creation {
        return Vec::new();
    }
    let topics = broker.topics.snapshot();
    let names = request.topics.iter().flatten().filter_map(|topic| topic.name.as_deref());
    let may_be_made =
        |name: &&str| topics.by_name(name).is_none() && check_topic_name(name).is_ok() && !is_internal(name);
    let mut names: Vec<_> = names.filter(may_be_made).collect();
    names.sort_unstable();
    names.dedup();
    let spec = |name: &str| TopicSpec {
        name: name.to_owned(),
        partitions: broker.config.default_partitions,
        config: TopicConfig::inherited(&broker.config.topic_defaults()),
    };
    names.into_iter().map(spec).collect()
}

fn describe(call: &Call, request: &MetadataRequest) -> MetadataResponse {
    let broker = &call.broker;
    let listener = &call.session.listener;
    let topics = broker.topics.snapshot();
    let all = request.topics.is_none() || (call.version() == 0 && request.topics.as_ref().is_some_and(Vec::is_empty));
    let topics = if all {
        topics.sorted().iter().map(|topic| describe_topic(broker, topic)).collect()
    } else {
        // A topic named again is not told again: what an answer takes is bounded by the topics there are.
        let mut seen = HashSet::new();
        let asked = request.topics.iter().flatten();
        asked
            .filter(|asked| seen.insert((asked.name.as_deref(), asked.name.is_none().then_some(asked.topic_id))))
            .map(|asked| {
                let found = match &asked.name {
                    Some(name) => topics.by_name(name),
                    None => topics.by_id(&asked.topic_id),
                };
                found.map_or_else(|| unknown(asked, call.version()), |topic| describe_topic(broker, topic))
            })
            .collect()
    };
    MetadataResponse {
        brokers: vec![MetadataResponseBroker {
            node_id: broker.config.node_id,
            host: listener.advertised_host.clone(),
            port: i32::from(listener.advertised_port),
            rack: None,
        }],
        cluster_id: Some(broker.cluster_id.clone()),
        controller_id: broker.config.node_id,
        topics,
        ..MetadataResponse::default()
    }
}

fn describe_topic(broker: &BrokerState, topic: &Arc<Topic>) -> MetadataResponseTopic {
    let node = broker.config.node_id;
    let partition = |index| MetadataResponsePartition {
        partition_index: index,
        leader_id: node,
        leader_epoch: broker.leader_epoch(),
        replica_nodes: vec![node],
        isr_nodes: vec![node],
        ..MetadataResponsePartition::default()
    };
    MetadataResponseTopic {
        name: Some(topic.name.to_string()),
        topic_id: topic.id,
        is_internal: topic.is_internal(),
        partitions: topic.partitions.iter().map(|held| partition(held.index())).collect(),
        ..MetadataResponseTopic::default()
    }
}

fn unknown(asked: &MetadataRequestTopic, version: i16) -> MetadataResponseTopic {
    let error = match &asked.name {
        Some(name) if check_topic_name(name).is_err() => ErrorCode::InvalidTopicException,
        Some(_) => ErrorCode::UnknownTopicOrPartition,
        None => ErrorCode::UnknownTopicId,
    };
    MetadataResponseTopic {
        error_code: error.code(),
        // Versions 10 and 11 can ask by id alone, but cannot answer without a name.
        name: asked.name.clone().or_else(|| (version < 12).then(String::new)),
        topic_id: asked.topic_id,
        ..MetadataResponseTopic::default()
    }
}
