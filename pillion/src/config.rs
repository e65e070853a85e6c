//! The configuration: what a file, the environment and the flags say, checked once and typed.
//!
//! ```text
//! --config FILE ─┐   (TOML, or a server.properties of Kafka's)
//! PILLION_*     ─┼─ layers: the last word on each key, with its origin ─ typed: BrokerConfig, ConnectorConfigs
//! flags         ─┘
//! ```
//! Invariant: whatever is wrong is reported in one go, each problem with the place it comes from, and nothing starts.

mod connectors;
mod effective;
mod kafka;
mod keys;
mod layers;
mod listeners;
mod named;
mod problem;
mod properties;
mod typed;

pub(crate) use connectors::{NO_DATABASE, NamedConnector};
pub(crate) use effective::effective;
pub(crate) use keys::{
    AUTO_INIT, BOOTSTRAP_SERVERS, Change, Key, LISTENERS, LOG_DIRS, POSTGRES_URL, PUBLICATION_NAME, Part, SLOT_NAME,
    TABLE_INCLUDE_LIST, all as keys, environment_name,
};
pub(crate) use layers::{Layers, Origin};
pub(crate) use properties::properties;
pub(crate) use typed::{Configuration, Parts};
