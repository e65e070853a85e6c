//! AlterConfigs (key 33), versions 0 to 2.
//!
//! Replaces all settings of a resource; what is not named falls back to its default. IncrementalAlterConfigs took its
//! place (KIP-339); old clients still send it.
//!
//! Versions: 1 changed no field; 2 brought flexible fields.

use crate::Message;

/// The resources to configure.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 33, name = "AlterConfigs", versions = "0-2", flexible = "2+", response = "AlterConfigsResponse")]
pub struct AlterConfigsRequest {
    /// One entry a resource.
    pub resources: Vec<AlterConfigsResource>,
    /// Check the request and answer as if it had been done, but change nothing.
    pub validate_only: bool,
}

/// A resource with all its settings.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterConfigsResource {
    /// What is configured: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The topic's or group's name, or the broker's id in digits (empty: the cluster-wide default).
    pub resource_name: String,
    /// One entry a setting.
    pub configs: Vec<AlterableConfig>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterableConfig {
    /// The setting's key.
    pub name: String,
    /// The value.
    #[field(nullable = "0+")]
    pub value: Option<String>,
}

/// What became of each resource.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 33, name = "AlterConfigs", versions = "0-2", flexible = "2+")]
pub struct AlterConfigsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a resource.
    pub responses: Vec<AlterConfigsResourceResponse>,
}

/// One resource's result.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterConfigsResourceResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// What is configured: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The topic's or group's name, or the broker's id in digits (empty: the cluster-wide default).
    pub resource_name: String,
}
