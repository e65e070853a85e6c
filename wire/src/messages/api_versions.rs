//! ApiVersions (key 18), versions 0 to 5.
//!
//! Tells a client which APIs and versions the broker speaks; the first request of a connection.
//!
//! The response always has the oldest header, without tagged fields, for the client does not know yet what the
//! broker speaks. A request too new is answered in version 0 with UNSUPPORTED_VERSION and this API's own range.
//!
//! Versions: 3 brought flexible fields, the client's name (KIP-511) and features (KIP-584); 4 allows a feature's
//! lowest version to be 0 (KAFKA-17011); 5 lets the client say whom it expects to reach (KIP-1242).

use crate::Message;

/// The client introduces itself.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 18, name = "ApiVersions", versions = "0-5", flexible = "3+", response = "ApiVersionsResponse")]
pub struct ApiVersionsRequest {
    /// The client library's name: letters, digits, `.` and `-`.
    #[field(versions = "3+", ignorable)]
    pub client_software_name: String,
    /// The client library's version, in the same characters.
    #[field(versions = "3+", ignorable)]
    pub client_software_version: String,
    /// The cluster the client expects; `None` skips the check.
    #[field(versions = "5+", nullable = "5+", default = None, ignorable)]
    pub cluster_id: Option<String>,
    /// The broker id the client expects; -1 skips the check.
    #[field(versions = "5+", default = -1, ignorable)]
    pub node_id: i32,
}

/// What the broker speaks.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 18, name = "ApiVersions", versions = "0-5", flexible = "3+")]
pub struct ApiVersionsResponse {
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// One range of versions an API.
    pub api_keys: Vec<ApiVersion>,
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    #[field(versions = "1+", ignorable)]
    pub throttle_time_ms: i32,
    /// The features the broker could finalize.
    #[field(versions = "3+", tag = 0, ignorable)]
    pub supported_features: Vec<SupportedFeatureKey>,
    /// Grows when the finalized features change; -1 when unknown.
    #[field(versions = "3+", default = -1, tag = 1, ignorable)]
    pub finalized_features_epoch: i64,
    /// The features in force; only meaningful with an epoch of 0 or more.
    #[field(versions = "3+", tag = 2, ignorable)]
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Left over from ZooKeeper migrations; false.
    #[field(versions = "3+", tag = 3, ignorable)]
    pub zk_migration_ready: bool,
}

/// An API's versions.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ApiVersion {
    /// The API's number.
    pub api_key: i16,
    /// The oldest version, inclusive.
    pub min_version: i16,
    /// The newest version, inclusive.
    pub max_version: i16,
}

/// A feature the broker knows.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct SupportedFeatureKey {
    /// The feature's name, such as `transaction.version`.
    pub name: String,
    /// The lowest level, inclusive.
    pub min_version: i16,
    /// The highest level, inclusive.
    pub max_version: i16,
}

/// A feature in force.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct FinalizedFeatureKey {
    /// The feature's name.
    pub name: String,
    /// The highest level in force.
    pub max_version_level: i16,
    /// The lowest level in force.
    pub min_version_level: i16,
}
