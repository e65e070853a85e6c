//! The broker: accept → frame → dispatch → handler → partition → log.
//!
//! It knows nothing of Postgres or of the connector, which speaks Kafka's protocol to it like any client.

mod broker;
mod catalogue;
mod checkpoints;
mod clock;
mod config;
mod data_directory;
mod descriptors;
mod disk;
mod dispatch;
mod error_codes;
mod features;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod groups;
mod handlers;
mod hosting;
pub mod inspect;
mod internal_topics;
mod kafka_directory;
#[cfg(test)]
#[path = "../tests/fixtures/kafka.rs"]
mod kafka_fixture;
mod leftovers;
mod log;
mod log_settings;
mod maintenance;
mod metrics;
mod network;
mod opening;
mod partition;
mod spans;
mod start;
mod sync;
mod topic_config;
mod transactions;

pub use catalogue::CatalogueError;
pub use config::{BrokerConfig, BrokerSpanMode, ConfigError, Durability, ListenerConfig, SettingDescription};
pub use data_directory::DataDirectoryError;
pub use disk::{Disk, DiskFile, Entry, HeldSyncs, MappedFile, RealDisk, SimulatedDisk, Space};
pub use kafka_directory::{AdoptionError, MetadataRecordError};
pub use leftovers::LeftoversError;
pub use log::LogError;
pub use metrics::{
    ApiSnapshot, BrokerObserver, BrokerSnapshot, DiskSnapshot, GroupSnapshot, GroupTopicSnapshot, HistogramSnapshot,
    NetworkSnapshot, SnapshotLimits, TopicSnapshot, Unready,
};
pub use start::{Broker, RunningBroker, StartError, StopError};
