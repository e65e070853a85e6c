//! What AlterConfigs and IncrementalAlterConfigs share: whose settings a request means, and what is refused.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use pillion_wire::ErrorCode;

use crate::broker::BrokerState;
use crate::catalogue::check_topic_name;
use crate::config::{DynamicConfigError, Scope, SettingsInForce};
use crate::error_codes::in_words;
use crate::topic_config::{TopicConfig, TopicConfigError};

/// A topic's settings.
pub(super) const TOPIC: i8 = 2;
/// A broker's settings, or with no name those of every broker.
pub(super) const BROKER: i8 = 4;
/// What a broker logs.
pub(super) const BROKER_LOGGER: i8 = 8;
/// A subscription to clients' metrics, of which there are none.
pub(super) const CLIENT_METRICS: i8 = 16;
/// A group's settings, of which there are none.
pub(super) const GROUP: i8 = 32;
/// The one logger there is.
pub(super) const ROOT_LOGGER: &str = "root";

/// A resource, or a setting, that is not changed.
pub(super) type Refusal = (ErrorCode, String);

/// Whose settings are changed.
pub(super) enum Resource<'a> {
    /// This topic's, if it exists.
    Topic(&'a str),
    /// The broker's.
    Broker(Scope),
}

/// What a resource stands for; refused where nothing of it can be changed. `names` are the settings to be changed.
pub(super) fn resource_of<'a>(
    broker: &BrokerState,
    resource_type: i8,
    name: &'a str,
    names: &[&str],
) -> Result<Resource<'a>, Refusal> {
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(**name)) {
        return invalid(format!("{twice} is named twice"));
    }
    match resource_type {
        TOPIC if name.is_empty() => invalid("there are no settings for all topics; name one".to_owned()),
        TOPIC => match check_topic_name(name) {
            Ok(()) => Ok(Resource::Topic(name)),
            Err(error) => Err((ErrorCode::InvalidTopicException, error.to_string())),
        },
        BROKER if name.is_empty() => Ok(Resource::Broker(Scope::EveryBroker)),
        BROKER => check_node(broker, name).map(|()| Resource::Broker(Scope::ThisBroker)),
        BROKER_LOGGER => {
            check_node(broker, name)?;
            match names.iter().find(|name| **name != ROOT_LOGGER) {
                Some(unknown) => Err((ErrorCode::InvalidConfig, format!("there is no logger {unknown}"))),
                None => invalid("what is logged is set when the broker starts".to_owned()),
            }
        }
        CLIENT_METRICS => invalid("clients' metrics are not collected here".to_owned()),
        GROUP => invalid("groups have no settings here".to_owned()),
        other => invalid(format!("resource type {other} is not known")),
    }
}

/// Refuses the name of another node.
pub(super) fn check_node(broker: &BrokerState, name: &str) -> Result<(), Refusal> {
    let node_id = broker.config.node_id;
    match name.parse::<i32>() {
        Ok(named) if named == node_id => Ok(()),
        Ok(named) => invalid(format!("this is node {node_id}, not {named}")),
        Err(_) => invalid(format!("a node's name is its id, a number, and {name} is none")),
    }
}

fn invalid<T>(message: String) -> Result<T, Refusal> {
    Err((ErrorCode::InvalidRequest, message))
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
            tracing::warn!(topic = name, error = in_words(&error), "cannot change a topic's settings");
        }
        (code, in_words(&error))
    })
}

/// Changes the broker's settings.
pub(super) fn alter_broker(
    broker: &BrokerState,
    scope: Scope,
    validate_only: bool,
    change: impl FnOnce(&SettingsInForce) -> Result<SettingsInForce, DynamicConfigError>,
) -> Result<(), Refusal> {
    broker.alter_settings(scope, validate_only, change).map_err(|error| {
        let code = ErrorCode::from(&error);
        if code == ErrorCode::KafkaStorageError {
            tracing::warn!(error = in_words(&error), "cannot change the broker's settings");
        }
        (code, in_words(&error))
    })
}

/// A setting without the value it needs.
pub(super) fn null_value(name: &str) -> Refusal {
    (ErrorCode::InvalidRequest, format!("{name} needs a value"))
}

/// How often each thing is named.
pub(super) fn times_named<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut times = HashMap::new();
    keys.for_each(|key| *times.entry(key).or_default() += 1);
    times
}

/// Refuses what is named more than once: which change would hold?
pub(super) fn once<K: Hash + Eq>(named: &HashMap<K, usize>, key: &K) -> Result<(), Refusal> {
    match named.get(key) {
        Some(times) if *times > 1 => invalid("named twice in the request".to_owned()),
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
