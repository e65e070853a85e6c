//! DescribeConfigs (32), versions 1 to 4: settings of topics and of this broker, with sources and documentation.
//!
//! A broker without a name stands for what was set for every broker while they run. There is one logger, whose level
//! is that of the program; groups and clients' metrics have no settings here.

mod broker_settings;
mod inherited;

use std::cell::LazyCell;
use std::collections::HashSet;

use pillion_wire::ErrorCode;
use pillion_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use pillion_wire::messages::{DescribeConfigsRequest, DescribeConfigsResponse};
use tracing::level_filters::LevelFilter;

use broker_settings::BrokerSettings;
pub(crate) use inherited::Inherited;

use super::blocking;
use super::config_resources::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, ROOT_LOGGER, Refusal, TOPIC, check_node};
use crate::broker::BrokerState;
use crate::catalogue::check_topic_name;
use crate::config::Layer;
use crate::dispatch::{Call, Flow};

const SOURCE_TOPIC: i8 = 1;
const SOURCE_BROKER_LOGGER: i8 = 6;

/// Resources that are described inline: each is some kilobytes.
const INLINE_MAX: usize = 8;

/// Answers, off the event loop when it is much.
pub(crate) fn handle(call: Call, request: DescribeConfigsRequest) -> Flow {
    if request.resources.len() > INLINE_MAX {
        return blocking(move || {
            let response = describe_all(&call.broker, &request);
            call.answer(&response);
        });
    }
    let response = describe_all(&call.broker, &request);
    call.answer(&response)
}

fn describe_all(broker: &BrokerState, request: &DescribeConfigsRequest) -> DescribeConfigsResponse {
    let inherited = LazyCell::new(|| Inherited::all(broker));
    let describe = |resource: &DescribeConfigsResource| {
        let described = match resource.resource_type {
            TOPIC => topic(broker, &resource.resource_name, &inherited),
            _ => other(broker, resource),
        };
        let (configs, error) = match described {
            Ok(configs) => (configs, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let (code, message) = error.map_or((ErrorCode::None, None), |(code, message)| (code, Some(message)));
        let keys = resource.configuration_keys.as_ref();
        let wanted = configs.into_iter().filter(|config| keys.is_none_or(|keys| keys.contains(&config.name)));
        DescribeConfigsResult {
            error_code: code.code(),
            error_message: message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            configs: wanted.map(|config| as_asked(config, request)).collect(),
        }
    };
    // What is named again is not told again: an answer would be a thousand times its question.
    let mut seen = HashSet::new();
    let resources = request.resources.iter();
    let resources = resources.filter(|resource| seen.insert((resource.resource_type, &resource.resource_name)));
    let results = resources.map(describe).collect();
    DescribeConfigsResponse { throttle_time_ms: 0, results }
}

/// Leaves out what was not asked for.
fn as_asked(config: DescribeConfigsResourceResult, request: &DescribeConfigsRequest) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult {
        synonyms: if request.include_synonyms { config.synonyms } else { Vec::new() },
        documentation: config.documentation.filter(|_| request.include_documentation),
        ..config
    }
}

type Described = Result<Vec<DescribeConfigsResourceResult>, Refusal>;

fn other(broker: &BrokerState, resource: &DescribeConfigsResource) -> Described {
    let name = resource.resource_name.as_str();
    match resource.resource_type {
        BROKER if name.is_empty() => Ok(BrokerSettings::of(broker).describe_for_every_broker()),
        BROKER => check_node(broker, name).map(|()| BrokerSettings::of(broker).describe()),
        BROKER_LOGGER => check_node(broker, name).map(|()| vec![logger()]),
        GROUP | CLIENT_METRICS if !name.is_empty() => Ok(Vec::new()),
        GROUP | CLIENT_METRICS => Err((ErrorCode::InvalidRequest, "a name is needed".to_owned())),
        other => Err((ErrorCode::InvalidRequest, format!("resource type {other} is not known"))),
    }
}

fn topic(broker: &BrokerState, name: &str, inherited: &[Inherited]) -> Described {
    check_topic_name(name).map_err(|error| (ErrorCode::InvalidTopicException, error.to_string()))?;
    let Some(topic) = broker.topics.by_name(name) else {
        return Err((ErrorCode::UnknownTopicOrPartition, "topic does not exist".to_owned()));
    };
    let describe = |inherited: &Inherited| {
        let key = inherited.key;
        let set = topic.config.entries().get(key.name);
        let own = set.map(|value| synonym(key.name, value.clone(), SOURCE_TOPIC));
        DescribeConfigsResourceResult {
            name: key.name.to_owned(),
            config_source: if set.is_some() { SOURCE_TOPIC } else { inherited.source() },
            value: Some(set.unwrap_or(&inherited.value).clone()),
            synonyms: own.into_iter().chain(inherited.synonyms.iter().cloned()).collect(),
            config_type: key.kind as i8,
            documentation: Some(key.documentation.to_owned()),
            ..DescribeConfigsResourceResult::default()
        }
    };
    Ok(inherited.iter().map(describe).collect())
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
