//! AlterConfigs (33), versions 0 to 2: replaces all settings of topics; what is not named falls back to the broker's.
//!
//! The broker's own settings come from its file, environment and flags: changes to them are refused as Kafka refuses
//! them for keys that are read-only. What is said here of resources holds for IncrementalAlterConfigs too.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use pillion_wire::ErrorCode;
use pillion_wire::messages::alter_configs::{AlterConfigsResource, AlterConfigsResourceResponse};
use pillion_wire::messages::{AlterConfigsRequest, AlterConfigsResponse};

use super::blocking;
use crate::broker::BrokerState;
use crate::catalogue::check_topic_name;
use crate::dispatch::{Call, Flow};
use crate::topic_config::{TopicConfig, TopicConfigError};

const RESOURCE_TOPIC: i8 = 2;
const RESOURCE_BROKER: i8 = 4;

/// A resource, or a setting, that is not changed.
pub(super) type Refusal = (ErrorCode, String);

/// Changes the topics and answers once that is durable.
pub(crate) fn handle(call: Call, request: AlterConfigsRequest) -> Flow {
    blocking(move || {
        let named = times_named(request.resources.iter().map(|one| (one.resource_type, one.resource_name.clone())));
        let answer = |resource: AlterConfigsResource| {
            let key = (resource.resource_type, resource.resource_name.clone());
            let outcome = once(&named, &key).and_then(|()| alter(&call.broker, &resource, request.validate_only));
            let (error_code, error_message) = coded(outcome);
            let (resource_type, resource_name) = key;
            AlterConfigsResourceResponse { error_code, error_message, resource_type, resource_name }
        };
        let responses = request.resources.into_iter().map(answer).collect();
        call.answer(&AlterConfigsResponse { throttle_time_ms: 0, responses });
    })
}

fn alter(broker: &BrokerState, resource: &AlterConfigsResource, validate_only: bool) -> Result<(), Refusal> {
    let names = || resource.configs.iter().map(|config| config.name.as_str());
    let Resource::Topic(topic) = resource_of(broker, resource.resource_type, &resource.resource_name, names)? else {
        return Ok(());
    };
    let entries = resource.configs.iter().map(|config| match &config.value {
        Some(value) => Ok((&config.name, value)),
        None => Err(null_value(&config.name)),
    });
    let entries = entries.collect::<Result<Vec<_>, Refusal>>()?;
    let defaults = broker.config.topic_defaults();
    alter_topic(broker, topic, validate_only, |_| TopicConfig::new(entries, &defaults))
}

/// What a change is to.
pub(super) enum Resource<'a> {
    /// This topic, if it exists.
    Topic(&'a str),
    /// The broker, and nothing of it.
    Nothing,
}

/// What a resource stands for; refused where nothing of it can be changed. `names` are the settings to be changed.
pub(super) fn resource_of<'a, N: Iterator<Item = &'a str>>(
    broker: &BrokerState,
    resource_type: i8,
    name: &'a str,
    names: impl Fn() -> N,
) -> Result<Resource<'a>, Refusal> {
    let invalid = |message: String| Err((ErrorCode::InvalidRequest, message));
    let mut seen = HashSet::new();
    if let Some(twice) = names().find(|name| !seen.insert(*name)) {
        return invalid(format!("{twice} is named twice"));
    }
    match resource_type {
        RESOURCE_TOPIC if name.is_empty() => invalid("there are no settings for all topics; name one".to_owned()),
        RESOURCE_TOPIC => match check_topic_name(name) {
            Ok(()) => Ok(Resource::Topic(name)),
            Err(error) => Err((ErrorCode::InvalidTopicException, error.to_string())),
        },
        RESOURCE_BROKER if !name.is_empty() && name != broker.config.node_id.to_string() => {
            invalid(format!("this is node {}, not {name}", broker.config.node_id))
        }
        RESOURCE_BROKER if names().next().is_none() => Ok(Resource::Nothing),
        RESOURCE_BROKER => {
            let names = names().collect::<Vec<_>>().join(", ");
            invalid(format!("the broker's settings cannot be changed while it runs: {names}"))
        }
        other => invalid(format!("resource type {other} has no settings here")),
    }
}

/// Changes a topic's settings.
pub(super) fn alter_topic(
    broker: &BrokerState,
    name: &str,
    validate_only: bool,
    change: impl FnOnce(&TopicConfig) -> Result<TopicConfig, TopicConfigError>,
) -> Result<(), Refusal> {
    broker.alter_topic(name, validate_only, change).map_err(|error| {
        let code = ErrorCode::from(&error);
        if code == ErrorCode::KafkaStorageError {
            tracing::warn!(topic = name, %error, "cannot change a topic's settings");
        }
        (code, error.to_string())
    })
}

/// A setting without the value it needs.
pub(super) fn null_value(name: &str) -> Refusal {
    (ErrorCode::InvalidRequest, format!("{name} needs a value"))
}

/// How often each resource is named.
pub(super) fn times_named<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut times = HashMap::new();
    keys.for_each(|key| *times.entry(key).or_default() += 1);
    times
}

/// Refuses what is named more than once: which change would hold?
pub(super) fn once<K: Hash + Eq>(named: &HashMap<K, usize>, key: &K) -> Result<(), Refusal> {
    match named.get(key) {
        Some(times) if *times > 1 => Err((ErrorCode::InvalidRequest, "named twice in the request".to_owned())),
        _ => Ok(()),
    }
}

/// An outcome as responses have it.
pub(super) fn coded(outcome: Result<(), Refusal>) -> (i16, Option<String>) {
    match outcome {
        Ok(()) => (ErrorCode::None.code(), None),
        Err((code, message)) => (code.code(), Some(message)),
    }
}
