//! IncrementalAlterConfigs (44), versions 0 to 1: changes single settings of topics and brokers, and no others.
//!
//! A setting is set, deleted, or, if it is a list, appended to or subtracted from (KIP-339). What a broker logs is not
//! changed here.

use pillion_wire::ErrorCode;
use pillion_wire::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterConfigsResourceResponse, AlterableConfig,
};
use pillion_wire::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::blocking;
use super::config_resources::{
    Refusal, Resource, alter_broker, alter_topic, coded, null_value, once, resource_of, times_named,
};
use crate::broker::BrokerState;
use crate::dispatch::{Call, Flow};
use crate::topic_config::ConfigChange;

/// Changes the settings and answers once that is durable.
pub(crate) fn handle(call: Call, request: IncrementalAlterConfigsRequest) -> Flow {
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
        call.answer(&IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses });
    })
}

fn alter(broker: &BrokerState, resource: &AlterConfigsResource, validate_only: bool) -> Result<(), Refusal> {
    let names: Vec<_> = resource.configs.iter().map(|config| config.name.as_str()).collect();
    let resource_of = resource_of(broker, resource.resource_type, &resource.resource_name, &names)?;
    let changes = resource.configs.iter().map(change).collect::<Result<Vec<_>, Refusal>>()?;
    match resource_of {
        Resource::Topic(topic) => {
            let defaults = broker.topic_defaults();
            alter_topic(broker, topic, validate_only, |config| config.changed(changes, &defaults))
        }
        Resource::Broker(scope) => {
            alter_broker(broker, scope, validate_only, |settings| settings.changed(scope, changes))
        }
    }
}

fn change(config: &AlterableConfig) -> Result<(&str, ConfigChange), Refusal> {
    let value = || config.value.clone().ok_or_else(|| null_value(&config.name));
    let change = match config.config_operation {
        0 => ConfigChange::Set(value()?),
        1 => ConfigChange::Delete,
        2 => ConfigChange::Append(value()?),
        3 => ConfigChange::Subtract(value()?),
        other => return Err((ErrorCode::InvalidRequest, format!("operation {other} on {} is not known", config.name))),
    };
    Ok((&config.name, change))
}
