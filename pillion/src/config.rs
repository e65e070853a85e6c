//! The configuration: what a file, the environment and the flags say, checked once and typed.
//!
//! ```text
//! --config FILE ─┐
//! PILLION_*     ─┼─ layers: the last word on each key, with its origin ─ typed: BrokerConfig, ConnectorConfigs
//! flags         ─┘
//! ```
//! Invariant: whatever is wrong is reported in one go, each problem with the place it comes from, and nothing starts.

mod connectors;
mod effective;
mod keys;
mod layers;
mod listeners;
mod named;
mod problem;
mod typed;

pub(crate) use connectors::NamedConnector;
pub(crate) use effective::effective;
pub(crate) use keys::{
    AUTO_INIT, BOOTSTRAP_SERVERS, LISTENERS, LOG_DIRS, POSTGRES_URL, PUBLICATION_NAME, SLOT_NAME, TABLE_INCLUDE_LIST,
    environment_name,
};
pub(crate) use layers::Layers;
pub(crate) use typed::{Configuration, Parts};
