//! IncrementalAlterConfigs (key 44), versions 0 to 1.
//!
//! Changes single settings and leaves the others alone (KIP-339).
//!
//! Versions: 1 brought flexible fields.

use crate::Message;

/// The settings to change.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 44,
    name = "IncrementalAlterConfigs",
    versions = "0-1",
    flexible = "1+",
    response = "IncrementalAlterConfigsResponse"
)]
pub struct IncrementalAlterConfigsRequest {
    /// One entry a resource.
    pub resources: Vec<AlterConfigsResource>,
    /// Check the request and answer as if it had been done, but change nothing.
    pub validate_only: bool,
}

/// A resource to change.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterConfigsResource {
    /// What is configured: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The topic's or group's name, or the broker's id in digits (empty: the cluster-wide default).
    pub resource_name: String,
    /// One entry a setting.
    pub configs: Vec<AlterableConfig>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct AlterableConfig {
    /// The setting's key.
    pub name: String,
    /// 0 sets, 1 removes the setting, 2 appends to a list, 3 subtracts from a list.
    pub config_operation: i8,
    /// The value; `None` when the setting is removed.
    #[field(nullable = "0+")]
    pub value: Option<String>,
}

/// What became of each resource.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 44, name = "IncrementalAlterConfigs", versions = "0-1", flexible = "1+")]
pub struct IncrementalAlterConfigsResponse {
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
