//! Metadata (3), versions 0 to 13: brokers, topics, partitions and leaders.
//!
//! This node leads everything, under the address of the listener the question came by. Unknown topics are made when
//! the client and `auto.create.topics.enable` allow it, after they were answered as unknown: so does Kafka, and clients
//! ask again. Whoever looks whether a topic is gone hears that it is. A topic named twice is described once. Versions
//! 10 and 11 have topics' ids but cannot be asked by them.

use std::collections::HashSet;
use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::metadata::{
    MetadataRequestTopic, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use pillion_wire::messages::{MetadataRequest, MetadataResponse};

use super::blocking;
use super::permitted_operations::{NOT_ASKED, ON_CLUSTER, ON_TOPIC};
use crate::broker::{BrokerState, TopicChangeError, TopicSpec};
use crate::catalogue::{Topic, check_topic_name, is_internal};
use crate::dispatch::{Call, Flow};
use crate::error_codes::in_words;
use crate::topic_config::TopicConfig;

/// Answers at once, and makes topics before the connection's next request.
pub(crate) fn handle(call: Call, request: MetadataRequest) -> Flow {
    if matches!(call.version(), 10 | 11) && request.topics.iter().flatten().any(is_by_id) {
        return call.answer(&refused(&request));
    }
    let missing = missing_topics(&call, &request);
    let response = describe(&call, &request);
    if missing.is_empty() {
        return call.answer(&response);
    }
    blocking(move || {
        let broker = Arc::clone(&call.broker);
        call.answer(&response);
        for made in broker.create_topics(missing) {
            match made {
                // Another connection was quicker.
                Ok(_) | Err(TopicChangeError::Exists(_)) => {}
                Err(error) => tracing::warn!(error = in_words(&error), "cannot make a topic on first use"),
            }
        }
    })
}

/// Whether a topic is asked for by its id.
fn is_by_id(asked: &MetadataRequestTopic) -> bool {
    asked.name.is_none() || !asked.topic_id.is_nil()
}

/// The answer to ids in versions that have none in requests: every topic with the error, as Kafka's.
fn refused(request: &MetadataRequest) -> MetadataResponse {
    let topic = |asked: &MetadataRequestTopic| MetadataResponseTopic {
        error_code: ErrorCode::InvalidRequest.code(),
        name: Some(asked.name.clone().unwrap_or_default()),
        topic_id: asked.topic_id,
        ..MetadataResponseTopic::default()
    };
    MetadataResponse { topics: request.topics.iter().flatten().map(topic).collect(), ..MetadataResponse::default() }
}

/// Topics to make: asked for by a valid name, unknown, and allowed to be made. The broker's own are made by those who
/// use them, with settings of their own.
fn missing_topics(call: &Call, request: &MetadataRequest) -> Vec<TopicSpec> {
    let broker = &call.broker;
    if !broker.config.auto_create_topics || !request.allow_auto_topic_creation {
        return Vec::new();
    }
    let topics = broker.topics.snapshot();
    let by_name = request.topics.iter().flatten().filter(|topic| topic.topic_id.is_nil());
    let names = by_name.filter_map(|topic| topic.name.as_deref());
    let may_be_made =
        |name: &&str| topics.by_name(name).is_none() && check_topic_name(name).is_ok() && !is_internal(name);
    let mut names: Vec<_> = names.filter(may_be_made).collect();
    names.sort_unstable();
    names.dedup();
    let spec = |name: &str| TopicSpec {
        name: name.to_owned(),
        partitions: broker.config.default_partitions,
        config: TopicConfig::inherited(&broker.topic_defaults()),
    };
    names.into_iter().map(spec).collect()
}

fn describe(call: &Call, request: &MetadataRequest) -> MetadataResponse {
    let broker = &call.broker;
    let listener = &call.session.listener;
    let topics = broker.topics.snapshot();
    let all = request.topics.is_none() || (call.version() == 0 && request.topics.as_ref().is_some_and(Vec::is_empty));
    let mut seen = HashSet::new();
    let mut topics: Vec<_> = if all {
        topics.sorted().iter().map(|topic| describe_topic(broker, topic)).collect()
    } else {
        let found = |asked: &MetadataRequestTopic| match &asked.name {
            Some(name) if asked.topic_id.is_nil() => topics.by_name(name).cloned(),
            _ => topics.by_id(&asked.topic_id).cloned(),
        };
        let asked = request.topics.iter().flatten().map(|asked| (asked, found(asked)));
        let once = asked.filter(|(asked, found)| {
            let id = found.as_ref().map_or(asked.topic_id, |topic| topic.id);
            seen.insert((id, asked.name.clone().filter(|_| found.is_none())))
        });
        let described = once.map(|(asked, found)| match found {
            Some(topic) => describe_topic(broker, &topic),
            None => unknown(asked),
        });
        described.collect()
    };
    if request.include_topic_authorized_operations {
        // What may be done to a topic that has no name is not known.
        let named = topics.iter_mut().filter(|topic| topic.name.is_some());
        named.for_each(|topic| topic.topic_authorized_operations = ON_TOPIC);
    }
    let cluster_authorized_operations =
        if request.include_cluster_authorized_operations { ON_CLUSTER } else { NOT_ASKED };
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
        cluster_authorized_operations,
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

fn unknown(asked: &MetadataRequestTopic) -> MetadataResponseTopic {
    let error = match &asked.name {
        Some(_) if !asked.topic_id.is_nil() => ErrorCode::UnknownTopicId,
        Some(name) if check_topic_name(name).is_err() => ErrorCode::InvalidTopicException,
        Some(_) => ErrorCode::UnknownTopicOrPartition,
        None => ErrorCode::UnknownTopicId,
    };
    MetadataResponseTopic {
        error_code: error.code(),
        name: asked.name.clone(),
        topic_id: asked.topic_id,
        ..MetadataResponseTopic::default()
    }
}
