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
            RESOURCE_BROKER => broker(&call.broker, resource),
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
    let default_source = if key.default.is_some() { SOURCE_DEFAULT } else { SOURCE_STATIC_BROKER };
    let synonym =
        |value: String, source| DescribeConfigsSynonym { name: key.name.to_owned(), value: Some(value), source };
    let synonyms = set.clone().map(|value| synonym(value, SOURCE_TOPIC)).into_iter();
    let synonyms = synonyms.chain([synonym(default.clone(), default_source)]);
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

/// A topic setting's value where the topic does not say.
pub(super) fn default_value(broker: &BrokerState, key: &TopicConfigKey) -> String {
    match key.name {
        "max.message.bytes" => broker.config.batch_bytes_max.to_string(),
        "segment.bytes" => broker.config.segment_bytes.to_string(),
        _ => key.default.unwrap_or_default().to_owned(),
    }
}

fn broker(broker: &BrokerState, resource: &DescribeConfigsResource) -> Described {
    if !resource.resource_name.is_empty() && resource.resource_name != broker.config.node_id.to_string() {
        let message = format!("this is node {}, not {}", broker.config.node_id, resource.resource_name);
        return Err((ErrorCode::InvalidRequest, message));
    }
    let setting = |(name, value): (&str, String)| DescribeConfigsResourceResult {
        name: name.to_owned(),
        value: Some(value),
        read_only: true,
        config_source: SOURCE_STATIC_BROKER,
        config_type: ConfigKind::Text as i8,
        documentation: None,
        ..DescribeConfigsResourceResult::default()
    };
    Ok(broker.config.settings().into_iter().map(setting).collect())
}
