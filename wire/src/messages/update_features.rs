//! UpdateFeatures (key 57), versions 0 to 2.
//!
//! Finalizes levels of the cluster's features (KIP-584).
//!
//! Versions: 1 tells safe downgrades from unsafe ones and can only validate (KIP-778); 2 has one outcome for all.

use crate::Message;

/// Which features get which levels.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 57, name = "UpdateFeatures", versions = "0-2", flexible = "0+", response = "UpdateFeaturesResponse")]
pub struct UpdateFeaturesRequest {
    /// Milliseconds to wait.
    #[field(default = 60_000)]
    pub timeout_ms: i32,
    /// One entry a feature.
    pub feature_updates: Vec<FeatureUpdateKey>,
    /// Only say whether it could be done.
    #[field(versions = "1+")]
    pub validate_only: bool,
}

/// A feature's change.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct FeatureUpdateKey {
    /// The feature's name.
    pub feature: String,
    /// The level it is to have; 0 for none.
    pub max_version_level: i16,
    /// Whether the level may be lower than it is.
    #[field(versions = "0")]
    pub allow_downgrade: bool,
    /// 1 upgrades only, 2 downgrades that lose nothing, 3 any downgrade.
    #[field(versions = "1+", default = 1)]
    pub upgrade_type: i8,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 57, name = "UpdateFeatures", versions = "0-2", flexible = "0+")]
pub struct UpdateFeaturesResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry a feature; none when nothing was changed.
    #[field(versions = "0-1", ignorable)]
    pub results: Vec<UpdatableFeatureResult>,
}

/// A feature's outcome.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct UpdatableFeatureResult {
    /// The feature's name.
    pub feature: String,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
}
