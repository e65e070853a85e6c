//! DescribeConfigs.

use pillion_wire::ErrorCode;
use pillion_wire::messages::DescribeConfigsRequest;
use pillion_wire::messages::describe_configs::{
    DescribeConfigsResource, DescribeConfigsResourceResult, DescribeConfigsResult,
};

use super::{Admin, AdminError, ConfigEntry, ConfigResource, ConfigSource, ResourceConfigs, Route, refused};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

impl Admin {
    /// The settings of topics and brokers, in the order of `resources`.
    ///
    /// # Errors
    /// [`AdminError::Client`] when no answer was had; what is wrong with a single resource stands in its result.
    pub async fn describe_configs(&self, resources: Vec<ConfigResource>) -> Result<Vec<ResourceConfigs>, AdminError> {
        let mut described = Vec::with_capacity(resources.len());
        for resource in resources {
            let (resource_type, resource_name, route) = wire_resource(&resource);
            let asked = DescribeConfigsResource { resource_type, resource_name, configuration_keys: None };
            let request = DescribeConfigsRequest {
                resources: vec![asked],
                include_synonyms: false,
                include_documentation: false,
            };
            let first = |results: &[DescribeConfigsResult]| results.first().map_or(0, |result| result.error_code);
            let response = self.ask(route, &request, |response| transient(first(&response.results))).await?;
            let result = match response.results.into_iter().next() {
                Some(result) => read(result),
                None => Err(AdminError::NotAnswered { api: "DescribeConfigs", resource: format!("{resource:?}") }),
            };
            described.push(ResourceConfigs { resource, result });
        }
        Ok(described)
    }
}

/// A resource's kind and name on the wire, and whom to ask about it.
pub(super) fn wire_resource(resource: &ConfigResource) -> (i8, String, Route) {
    match resource {
        ConfigResource::Topic(name) => (TOPIC, name.clone(), Route::Any),
        // Only the broker itself knows what its file says.
        ConfigResource::Broker(id) => (BROKER, id.to_string(), Route::Broker(*id)),
    }
}

/// Unknown topics count as retriable for produce and fetch; who asks for their settings wants to be told.
fn transient(code: i16) -> ErrorCode {
    match ErrorCode::from_code(code) {
        ErrorCode::UnknownTopicOrPartition => ErrorCode::None,
        code => code,
    }
}

fn read(result: DescribeConfigsResult) -> Result<Vec<ConfigEntry>, AdminError> {
    refused("DescribeConfigs", &result.resource_name, result.error_code, result.error_message)?;
    Ok(result.configs.into_iter().map(read_entry).collect())
}

fn read_entry(entry: DescribeConfigsResourceResult) -> ConfigEntry {
    let source = match entry.config_source {
        1 => ConfigSource::Topic,
        2 => ConfigSource::Broker,
        3 => ConfigSource::ClusterDefault,
        4 => ConfigSource::StaticBroker,
        5 => ConfigSource::Default,
        _ => ConfigSource::Other,
    };
    ConfigEntry {
        name: entry.name,
        value: entry.value,
        source,
        is_read_only: entry.read_only,
        is_sensitive: entry.is_sensitive,
    }
}
