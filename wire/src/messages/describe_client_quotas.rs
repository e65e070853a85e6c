//! DescribeClientQuotas (key 48), versions 0 to 1.
//!
//! Shows what users, clients and addresses are held to (KIP-546).
//!
//! Versions: 1 brought flexible fields.

use crate::Message;

/// Which quotas.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(
    key = 48,
    name = "DescribeClientQuotas",
    versions = "0-1",
    flexible = "1+",
    response = "DescribeClientQuotasResponse"
)]
pub struct DescribeClientQuotasRequest {
    /// What the entities must be made of.
    pub components: Vec<ComponentData>,
    /// Whether they may be made of nothing else.
    pub strict: bool,
}

/// A part of an entity.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ComponentData {
    /// `user`, `client-id` or `ip`.
    pub entity_type: String,
    /// 0 this name, 1 the default, 2 any name.
    pub match_type: i8,
    /// The name; `None` unless one is meant.
    #[field(nullable = "0+")]
    pub r#match: Option<String>,
}

/// The quotas.
#[derive(Debug, Clone, PartialEq, Message)]
#[message(key = 48, name = "DescribeClientQuotas", versions = "0-1", flexible = "1+")]
pub struct DescribeClientQuotasResponse {
    /// Milliseconds the client should hold back because it went over a quota; 0 means none.
    pub throttle_time_ms: i32,
    /// Kafka error number; 0 means none.
    pub error_code: i16,
    /// What went wrong, for people.
    #[field(nullable = "0+")]
    pub error_message: Option<String>,
    /// One entry an entity; `None` with an error.
    #[field(nullable = "0+")]
    pub entries: Option<Vec<EntryData>>,
}

/// An entity and its quotas.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EntryData {
    /// What it is made of.
    pub entity: Vec<EntityData>,
    /// What it is held to.
    pub values: Vec<ValueData>,
}

/// A part of an entity.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct EntityData {
    /// `user`, `client-id` or `ip`.
    pub entity_type: String,
    /// Its name; `None` for the default.
    #[field(nullable = "0+")]
    pub entity_name: Option<String>,
}

/// A quota.
#[derive(Debug, Clone, PartialEq, Message)]
pub struct ValueData {
    /// The quota's key.
    pub key: String,
    /// Its value.
    pub value: f64,
}
