//! The broker: accept → frame → dispatch → handler → partition → log.
//!
//! It knows nothing of Postgres or of the connector, which speaks Kafka's protocol to it like any client.

#![allow(dead_code)]

mod config;
mod disk;
mod log;
mod partition;
mod sync;

pub use config::{BrokerConfig, ConfigError, Durability, ListenerConfig};
pub use disk::{Disk, DiskFile, RealDisk, SimulatedDisk};
