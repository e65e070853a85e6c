//! DescribeConfigs (32), versions 1 to 4: settings of topics and of this broker, with sources and documentation.
//!
//! A broker without a name stands for what was set for every broker while they run. There is one logger, whose level
//! is that of the program; groups and clients' metrics have no settings here.

mod broker_settings;

use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use pillion_wire::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use tracing::level_filters::LevelFilter;

pub(crate) use broker_settings::BrokerSettings;

use super::config_resources::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, ROOT_LOGGER, Refusal, TOPIC, check_node};
use crate::broker::BrokerState;
use crate::catalogue::check_topic_name;
use crate::config::Layer;
use crate::dispatch::{Call, Flow};
use crate::topic_config::{ConfigKind, TOPIC_CONFIG_KEYS, TopicConfigKey};

const SOURCE_TOPIC: i8 = 1;
const SOURCE_BROKER_LOGGER: i8 = 6;

/// Answers.
pub(crate) fn handle(call: Call, request: DescribeConfigsRequest) -> Flow {
    let describe = |resource: &DescribeConfigsResource| {
        let (configs, error) = match describe(&call.broker, resource, &request) {
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

type Described = Result<Vec<DescribeConfigsResourceResult>, Refusal>;

fn describe(broker: &BrokerState, resource: &DescribeConfigsResource, request: &DescribeConfigsRequest) -> Described {
    let name = resource.resource_name.as_str();
    let mut described = match resource.resource_type {
        TOPIC => topic(broker, name)?,
        BROKER if name.is_empty() => BrokerSettings::of(broker).describe_for_every_broker(),
        BROKER => {
            check_node(broker, name)?;
            BrokerSettings::of(broker).describe()
        }
        BROKER_LOGGER => {
            check_node(broker, name)?;
            vec![logger()]
        }
        GROUP | CLIENT_METRICS if !name.is_empty() => Vec::new(),
        GROUP | CLIENT_METRICS => return Err((ErrorCode::InvalidRequest, "a name is needed".to_owned())),
        other => return Err((ErrorCode::InvalidRequest, format!("resource type {other} is not known"))),
    };
    for config in &mut described {
        if !request.include_synonyms {
            config.synonyms.clear();
        }
        config.documentation = config.documentation.take().filter(|_| request.include_documentation);
    }
    Ok(described)
}

fn topic(broker: &BrokerState, name: &str) -> Described {
    check_topic_name(name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    let Some(topic) = broker.topics.by_name(name) else {
        return Err((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned()));
    };
    let (defaults, settings) = (broker.topic_defaults(), BrokerSettings::of(broker));
    let describe = |key: &TopicConfigKey| {
        let set = topic.config.entries().get(key.name).cloned();
        let own = set.clone().map(|value| synonym(key.name, value, SOURCE_TOPIC));
        let synonyms: Vec<_> = own.into_iter().chain(settings.synonyms_of(key)).collect();
        // A list is told in the order it was given in.
        let given = synonyms.first().filter(|_| key.kind == ConfigKind::List).and_then(|first| first.value.clone());
        DescribeConfigsResourceResult {
            name: key.name.to_owned(),
            config_source: synonyms.first().map_or(source(Layer::BuiltIn), |first| first.source),
            value: Some(set.or(given).unwrap_or_else(|| (key.show)(&defaults))),
            synonyms,
            config_type: key.kind as i8,
            documentation: Some(key.documentation.to_owned()),
            ..DescribeConfigsResourceResult::default()
        }
    };
    Ok(TOPIC_CONFIG_KEYS.iter().map(describe).collect())
}

fn logger() -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult {
        name: ROOT_LOGGER.to_owned(),
        value: Some(LevelFilter::current().to_string().to_ascii_uppercase()),
        read_only: true,
        config_source: SOURCE_BROKER_LOGGER,
        documentation: Some("what is logged at least; set when the broker starts".to_owned()),
        ..DescribeConfigsResourceResult::default()
    }
}

fn synonym(name: &str, value: String, source: i8) -> DescribeConfigsSynonym {
    DescribeConfigsSynonym { name: name.to_owned(), value: Some(value), source }
}

/// A layer's number in answers.
fn source(layer: Layer) -> i8 {
    match layer {
        Layer::ThisBroker => 2,
        Layer::EveryBroker => 3,
        Layer::Start => 4,
        Layer::BuiltIn => 5,
    }
}
