//! DescribeConfigs (key 32), versions 1 to 4.
//!
//! Shows the settings of topics, brokers and groups.
//!
//! Versions: 1 brought where values come from and their synonyms (KIP-226); 3 types and explanations (KIP-569);
//! 4 flexible fields.

use crate::Message;

/// What to show.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 32, name = "DescribeConfigs", versions = "1-4", flexible = "4+", response = "DescribeConfigsResponse")]
pub struct DescribeConfigsRequest {
    /// One entry a resource.
    pub resources: Vec<DescribeConfigsResource>,
    /// Ask for the values a setting would fall back to.
    pub include_synonyms: bool,
    /// Ask for an explanation of each setting.
    #[field(versions = "3+")]
    pub include_documentation: bool,
}

/// A resource to show.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeConfigsResource {
    /// What is configured: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The topic's or group's name, or the broker's id in digits (empty: the cluster-wide default).
    pub resource_name: String,
    /// The keys wanted; `None` means all.
    #[field(nullable = "0+")]
    pub configuration_keys: Option<Vec<String>>,
}

/// The settings found.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 32, name = "DescribeConfigs", versions = "1-4", flexible = "4+")]
pub struct DescribeConfigsResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// One result a resource.
    pub results: Vec<DescribeConfigsResult>,
}

/// One resource's settings.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeConfigsResult {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// What is configured: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// The topic's or group's name, or the broker's id in digits (empty: the cluster-wide default).
    pub resource_name: String,
    /// One entry a setting.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeConfigsResourceResult {
    /// The setting's key.
    pub name: String,
    /// The setting's value; `None` when it is sensitive or unset.
    #[field(nullable = "0+")]
    pub value: Option<String>,
    /// Whether the setting cannot be changed while the broker runs.
    pub read_only: bool,
    /// Where the value comes from: 1 topic, 2 one broker, 3 all brokers, 4 configuration file, 5 built in, 6 broker
    /// logger, 7 client metrics, 8 group; -1 unknown.
    #[field(default = -1)]
    pub config_source: i8,
    /// Whether the value is kept secret.
    pub is_sensitive: bool,
    /// The values it would fall back to, nearest first.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password; 0 unknown.
    #[field(versions = "3+", ignorable)]
    pub config_type: i8,
    /// What the setting does; `None` when not asked for.
    #[field(versions = "3+", nullable = "3+", ignorable)]
    pub documentation: Option<String>,
}

/// A value a setting falls back to.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct DescribeConfigsSynonym {
    /// The key it is set under.
    pub name: String,
    /// The value; `None` when it is sensitive.
    #[field(nullable = "0+")]
    pub value: Option<String>,
    /// Where it comes from, numbered as `config_source`.
    pub source: i8,
}
