//! DescribeConfigs (32), versions 1 to 4: settings of topics and of this broker, with sources and documentation.
//!
//! The broker's settings are read-only here: they come from its file, environment and flags.

mod broker_settings;

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use pillion_wire::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

pub(crate) use broker_settings::BrokerSettings;

use crate::broker::BrokerState;
use crate::catalogue::check_topic_name;
use crate::dispatch::{Call, Flow};
use crate::topic_config::{TOPIC_CONFIG_KEYS, TopicConfigKey};

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
    // What is named again is not told again: an answer would be a thousand times its question.
    let mut seen = HashSet::new();
    let resources = request.resources.iter();
    let resources = resources.filter(|resource| seen.insert((resource.resource_type, &resource.resource_name)));
    let results = resources.map(describe).collect();
    call.answer(&DescribeConfigsResponse { throttle_time_ms: 0, results })
}

type Described = Result<Vec<DescribeConfigsResourceResult>, (ErrorCode, String)>;

fn topic(broker: &BrokerState, resource: &DescribeConfigsResource, request: &DescribeConfigsRequest) -> Described {
    check_topic_name(&resource.resource_name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    let Some(topic) = broker.topics.by_name(&resource.resource_name) else {
        return Err((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned()));
    };
    let (defaults, settings) = (broker.config.topic_defaults(), BrokerSettings::of(&broker.config));
    let describe = |key: &TopicConfigKey| {
        let set = topic.config.entries().get(key.name).cloned();
        let own = set.clone().map(|value| synonym(key.name, value, SOURCE_TOPIC));
        DescribeConfigsResourceResult {
            name: key.name.to_owned(),
            config_source: if set.is_some() { SOURCE_TOPIC } else { settings.source_of(key) },
            value: Some(set.unwrap_or_else(|| (key.show)(&defaults))),
            synonyms: if request.include_synonyms {
                own.into_iter().chain(settings.synonyms_of(key)).collect()
            } else {
                Vec::new()
            },
            config_type: key.kind as i8,
            documentation: request.include_documentation.then(|| key.documentation.to_owned()),
            ..DescribeConfigsResourceResult::default()
        }
    };
    Ok(TOPIC_CONFIG_KEYS.iter().map(describe).collect())
}

fn synonym(name: &str, value: String, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym { name: name.to_owned(), value: Some(value), source }
}

fn broker(broker: &BrokerState, resource: &DescribeConfigsResource, request: &DescribeConfigsRequest) -> Described {
    if !resource.resource_name.is_empty() && resource.resource_name != broker.config.node_id.to_string() {
        let message = format!("this is node {}, not {}", broker.config.node_id, resource.resource_name);
        return Err((ErrorCode::InvalidRequest, message));
    }
    Ok(BrokerSettings::of(&broker.config).describe(request.include_synonyms))
}
