//! AlterConfigs (33), versions 0 to 2: replaces all settings of topics and brokers; what is not named falls back.
//!
//! A topic's fall back to the broker's; those of this broker to those of every broker, those to what it started with.
//! Which can change at run time, the settings' table says.

use pillion_wire::ErrorCode;
use pillion_wire::messages::alter_configs::{AlterConfigsResource, AlterConfigsResourceResponse};
use pillion_wire::messages::{AlterConfigsRequest, AlterConfigsResponse};

use super::blocking;
use super::config_resources::{
    BROKER_LOGGER, Refusal, Resource, alter_broker, alter_topic, coded, null_value, once, resource_of, times_named,
};
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::topic_config::TopicConfig;

/// Changes the settings and answers once that is durable.
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
    if resource.resource_type == BROKER_LOGGER {
        return Err((ErrorCode::InvalidRequest, "loggers are not changed all at once".to_owned()));
    }
    let names: Vec<_> = resource.configs.iter().map(|config| config.name.as_str()).collect();
    let resource_of = resource_of(broker, resource.resource_type, &resource.resource_name, &names)?;
    let entries = resource.configs.iter().map(|config| match &config.value {
        Some(value) => Ok((config.name.as_str(), value.as_str())),
        None => Err(null_value(&config.name)),
    });
    let entries = entries.collect::<Result<Vec<_>, Refusal>>()?;
    match resource_of {
        Resource::Topic(topic) => {
            let defaults = broker.topic_defaults();
            alter_topic(broker, topic, validate_only, |_| TopicConfig::new(entries, &defaults))
        }
        Resource::Broker(scope) => {
            alter_broker(broker, scope, validate_only, |settings| settings.replaced(scope, entries))
        }
    }
}
