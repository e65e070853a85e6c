//! DescribeConfigs (32), versions 1 to 4: settings of topics and of this broker, with sources and documentation.
//!
//! The broker's settings are read-only here: they come from its file, environment and flags.

use std::sync::Arc;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use pillion_wire::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

use crate::broker::BrokerState;
use crate::catalogue::{Topic, check_topic_name};
use crate::config::BrokerConfig;
use crate::dispatch::{Call, Flow};
use crate::topic_config::{ConfigKind, TOPIC_CONFIG_KEYS, TopicConfigKey};

const RESOURCE_TOPIC: i8 = 2;
const RESOURCE_BROKER: i8 = 4;
const SOURCE_TOPIC: i8 = 1;
const SOURCE_STATIC_BROKER: i8 = 4;
const SOURCE_DEFAULT: i8 = 5;

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeConfigsRequest) -> Flow {
    let describe = |resource: &DescribeConfigsResource| {
        let described = match resource.resource_type {
            RESOURCE_TOPIC => topic(&call.broker, resource, &request),
            RESOURCE_BROKER => broker(&call.broker, resource, &request),
            other => Err((ErrorCode::InvalidRequest, format!("resource type {other} has no settings here"))),
        };
        let (configs, error) = match described {
            Ok(configs) => (configs, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (code, message) = error.map_or((ErrorCode::None, None), |(code, message)| (code, Some(message)));
        let wanted = |config: &DescribeConfigsResourceResult| {
            resource.configuration_keys.as_ref().is_none_or(|keys| keys.contains(&config.name))
        };
        DescribeConfigsResult {
            error_code: code.code(),
            error_message: message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            configs: configs.into_iter().filter(wanted).collect(),
        }
    };
    let results = request.resources.iter().map(describe).collect();
    call.answer(&DescribeConfigsResponse { throttle_time_ms: 0, results })
}

type Described = Result<Vec<DescribeConfigsResourceResult>, (ErrorCode, String)>;

fn topic(broker: &BrokerState, resource: &DescribeConfigsResource, request: &DescribeConfigsRequest) -> Described {
    check_topic_name(&resource.resource_name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    let Some(topic) = broker.topics.by_name(&resource.resource_name) else {
        return Err((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned()));
    };
    Ok(TOPIC_CONFIG_KEYS.iter().map(|key| topic_setting(broker, &topic, key, request)).collect())
}

fn topic_setting(
    broker: &BrokerState,
    topic: &Arc<Topic>,
    key: &TopicConfigKey,
    request: &DescribeConfigsRequest,
) -> DescribeConfigsResourceResult {
    let default = default_value(broker, key);
    let set = topic.config.entries().get(key.name).cloned();
    let default_source = default_source(broker, key);
    let synonyms = set.clone().map(|value| synonym(key.name, value, SOURCE_TOPIC)).into_iter();
    let default_name = broker_key(key).unwrap_or(key.name);
    let synonyms = synonyms.chain([synonym(default_name, default.clone(), default_source)]);
    DescribeConfigsResourceResult {
        name: key.name.to_owned(),
        config_source: if set.is_some() { SOURCE_TOPIC } else { default_source },
        value: Some(set.unwrap_or(default)),
        synonyms: if request.include_synonyms { synonyms.collect() } else { Vec::new() },
        config_type: key.kind as i8,
        documentation: request.include_documentation.then(|| key.documentation.to_owned()),
        ..DescribeConfigsResourceResult::default()
    }
}

fn synonym(name: &str, value: String, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym { name: name.to_owned(), value: Some(value), source }
}

/// The broker's setting that holds where the topic does not say.
fn broker_key(key: &TopicConfigKey) -> Option<&'static str> {
    match key.name {
        "max.message.bytes" => Some("message.max.bytes"),
        "segment.bytes" => Some("log.segment.bytes"),
        _ => None,
    }
}

/// A topic setting's value where the topic does not say.
pub(super) fn default_value(broker: &BrokerState, key: &TopicConfigKey) -> String {
    match key.name {
        "max.message.bytes" => broker.config.batch_bytes_max.to_string(),
        "segment.bytes" => broker.config.segment_bytes.to_string(),
        _ => key.default.unwrap_or_default().to_owned(),
    }
}

/// Where that value comes from. kafka-topics shows everything that is not a default as the topic's own.
pub(super) fn default_source(broker: &BrokerState, key: &TopicConfigKey) -> i8 {
    let Some(name) = broker_key(key) else { return SOURCE_DEFAULT };
    broker_settings(broker).find(|setting| setting.name == name).map_or(SOURCE_DEFAULT, |setting| setting.source())
}

/// A setting of the broker's beside its built-in value. Where a value came from is not kept: one that differs was set.
struct BrokerSetting {
    name: &'static str,
    value: String,
    built_in: String,
}

impl BrokerSetting {
    fn source(&self) -> i8 {
        if self.value == self.built_in { SOURCE_DEFAULT } else { SOURCE_STATIC_BROKER }
    }

    /// The value if it was set, then the built-in one.
    fn synonyms(&self) -> Vec<DescribeConfigsSynonym> {
        let set = (self.value != self.built_in).then(|| synonym(self.name, self.value.clone(), SOURCE_STATIC_BROKER));
        set.into_iter().chain([synonym(self.name, self.built_in.clone(), SOURCE_DEFAULT)]).collect()
    }
}

fn broker_settings(broker: &BrokerState) -> impl Iterator<Item = BrokerSetting> {
    // Both come out of one table, in its order.
    let built_in = BrokerConfig::new("", "").settings();
    let together = broker.config.settings().into_iter().zip(built_in);
    together.map(|((name, value), (_, built_in))| BrokerSetting { name, value, built_in })
}

fn broker(broker: &BrokerState, resource: &DescribeConfigsResource, request: &DescribeConfigsRequest) -> Described {
    if !resource.resource_name.is_empty() && resource.resource_name != broker.config.node_id.to_string() {
        let message = format!("this is node {}, not {}", broker.config.node_id, resource.resource_name);
        return Err((ErrorCode::InvalidRequest, message));
    }
    let describe = |setting: BrokerSetting| DescribeConfigsResourceResult {
        name: setting.name.to_owned(),
        config_source: setting.source(),
        synonyms: if request.include_synonyms { setting.synonyms() } else { Vec::new() },
        value: Some(setting.value),
        read_only: true,
        config_type: ConfigKind::Text as i8,
        documentation: None,
        ..DescribeConfigsResourceResult::default()
    };
    Ok(broker_settings(broker).map(describe).collect())
}
