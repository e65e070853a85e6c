//! ListConfigResources (74), versions 0 to 1: what can have settings: topics, this broker and its logger (KIP-1142).
//!
//! There are no groups with settings and no subscriptions to clients' metrics, which are all that version 0 asks for.

use pillion_wire::ErrorCode;
use pillion_wire::messages::list_config_resources::ConfigResource;
use pillion_wire::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};

use super::config_resources::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC};
use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, request: ListConfigResourcesRequest) -> Flow {
    let every_type = [TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP];
    if !request.resource_types.iter().all(|asked| every_type.contains(asked)) {
        let error_code = ErrorCode::UnsupportedVersion.code();
        return call.answer(&ListConfigResourcesResponse { error_code, ..ListConfigResourcesResponse::default() });
    }
    let is_wanted = |resource_type| match call.version() {
        0 => resource_type == CLIENT_METRICS,
        _ => request.resource_types.is_empty() || request.resource_types.contains(&resource_type),
    };
    let resource = |resource_type, resource_name| ConfigResource { resource_name, resource_type };
    let node = call.broker.config.node_id.to_string();
    let of_the_node = [BROKER_LOGGER, BROKER].into_iter().filter(|kind| is_wanted(*kind));
    let mut config_resources: Vec<_> = of_the_node.map(|kind| resource(kind, node.clone())).collect();
    if is_wanted(TOPIC) {
        let topics = call.broker.topics.snapshot().sorted();
        config_resources.extend(topics.iter().map(|topic| resource(TOPIC, topic.name.to_string())));
    }
    call.answer(&ListConfigResourcesResponse { config_resources, ..ListConfigResourcesResponse::default() })
}
