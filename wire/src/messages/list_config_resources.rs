//! ListConfigResources (key 74), versions 0 to 1.
//!
//! Names what can have settings (KIP-1142).
//!
//! Versions: 0 knows client metrics subscriptions only (KIP-714); 1 all types.

use crate::Message;

/// What to name.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 74,
    name = "ListConfigResources",
    versions = "0-1",
    flexible = "0+",
    response = "ListConfigResourcesResponse"
)]
pub struct ListConfigResourcesRequest {
    /// Types wanted, numbered as in DescribeConfigs; none means all.
    #[field(versions = "1+")]
    pub resource_types: Vec<i8>,
}

/// The names.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 74, name = "ListConfigResources", versions = "0-1", flexible = "0+")]
pub struct ListConfigResourcesResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// One entry a resource.
    pub config_resources: Vec<ConfigResource>,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ConfigResource {
    /// The resource's name.
    pub resource_name: String,
    /// What it is: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    #[field(versions = "1+", default = 16, ignorable)]
    pub resource_type: i8,
}
