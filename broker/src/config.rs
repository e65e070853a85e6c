//! The broker's settings: Kafka's names and defaults where Kafka has them.

mod dynamic;
mod kept;
mod log_settings;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub(crate) use dynamic::{DynamicConfigError, Layer, Scope, Settings, SettingsInForce};
pub(crate) use log_settings::LogSettings;
pub(crate) use rows::{Setting, TakesEffect};

use crate::topic_config::TopicValues;
use kept::KEPT;
use log_settings::LOG_SETTINGS;
use rows::SETTINGS;

/// What an acknowledgement promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Acknowledged and readable means synced to disk.
    Sync,
    /// Acknowledged and readable means written to the page cache, as a single Apache Kafka node does.
    Async,
}

/// Which produced batches get spans of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BrokerSpanMode {
    /// None.
    Off,
    /// Those with a record of a sampled trace.
    Sampled,
    /// Those that took long.
    Slow,
}

/// A listener: where it binds, and what its clients are told to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerConfig {
    /// Its name, as `PLAINTEXT` or `DOCKER`.
    pub name: String,
    /// Host and port to bind; port 0 picks one. `localhost` binds every address it has.
    pub bind: String,
    /// Host, and port unless it is the bound one, that metadata names; derived from `bind` when missing.
    pub advertised: Option<String>,
}

/// Everything a broker can be told.
#[derive(Debug, Clone)]
pub struct BrokerConfig {
    /// Where logs and the catalogue are kept.
    pub data_directory: PathBuf,
    /// Listeners; the first one's address is the broker's own.
    pub listeners: Vec<ListenerConfig>,
    /// `node.id`.
    pub node_id: i32,
    /// `log.durability`: `sync` or `async`.
    pub durability: Durability,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// `num.partitions`: of topics made without a number.
    pub default_partitions: i32,
    /// What holds for every topic that does not say otherwise, and how the logs are kept.
    pub(crate) log: LogSettings,
    /// `socket.request.max.bytes`: the largest request.
    pub request_bytes_max: usize,
    /// `queued.max.request.bytes`: what requests above 4 KiB may take while they arrive and are worked on, over all
    /// connections; producers beyond are not read from. `None` (-1) for no bound, which is Kafka's default. Ours is
    /// 32 MiB: a sidecar shares its memory with a service, and dozens of full batches at once keep any disk busy. A
    /// larger request goes through alone, and may then take more.
    pub queued_request_bytes_max: Option<usize>,
    /// `socket.send.buffer.bytes`: what the kernel keeps of answers a client has not taken; `None` (-1) lets it choose.
    /// Kafka's default, 100 KiB: sent bytes are still in the processor's cache when they are read. Raise it, with
    /// the client's receive buffer, for clients that are fast and far away.
    pub send_buffer_bytes: Option<usize>,
    /// `max.connections`.
    pub connections_max: usize,
    /// `max.connections.per.ip`.
    pub connections_per_address_max: usize,
    /// `connections.max.idle.ms`: a connection that is silent for so long is closed.
    pub connection_idle_max: Duration,
    /// `socket.frame.timeout.ms`: how long a begun request may take to arrive.
    pub frame_timeout: Duration,
    /// `log.min.free.bytes`: producers are refused below; `None` for the larger of 1 GiB and 5 % of the disk.
    pub free_bytes_min: Option<u64>,
    /// `group.initial.rebalance.delay.ms`.
    pub group_initial_rebalance_delay: Duration,
    /// `group.min.session.timeout.ms`.
    pub group_session_timeout_min: Duration,
    /// `group.max.session.timeout.ms`.
    pub group_session_timeout_max: Duration,
    /// `group.max.size`: members of one group.
    pub group_size_max: usize,
    /// `offsets.topic.num.partitions`.
    pub offsets_partitions: i32,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: usize,
    /// `offsets.retention.minutes`.
    pub offsets_retention: Duration,
    /// `transaction.state.log.num.partitions`.
    pub transactions_partitions: i32,
    /// `transaction.max.timeout.ms`: the longest time a producer may ask for its transactions.
    pub transaction_timeout_max: Duration,
    /// `transactional.id.expiration.ms`: how long a transactional id that is not used is remembered.
    pub transactional_id_expiration: Duration,
    /// `fetch.max.bytes`: the largest answer to a fetch, but for a batch that is larger.
    pub fetch_bytes_max: usize,
    /// `max.incremental.fetch.session.cache.slots`: fetch sessions; 0 for none.
    pub fetch_sessions_max: usize,
    /// `min.incremental.fetch.session.eviction.ms`: how long a fetch session is safe from others.
    pub fetch_session_safe_for: Duration,
    /// `telemetry.broker.spans`: `off`, `sampled` or `slow`.
    pub span_mode: BrokerSpanMode,
    /// `telemetry.broker.slow.ms`: from the request until the batch is durable.
    pub span_slow: Duration,
    /// The keys somebody gave a value to, be it the default.
    pub(crate) given: BTreeSet<&'static str>,
}

impl BrokerConfig {
    /// The defaults, for a data directory and one listener.
    #[must_use]
    pub fn new(data_directory: impl Into<PathBuf>, listen: impl Into<String>) -> Self {
        Self {
            data_directory: data_directory.into(),
            listeners: vec![ListenerConfig { name: "PLAINTEXT".to_owned(), bind: listen.into(), advertised: None }],
            node_id: 1,
            durability: Durability::Sync,
            auto_create_topics: true,
            default_partitions: 1,
            log: LogSettings::default(),
            request_bytes_max: 100 << 20,
            queued_request_bytes_max: Some(32 << 20),
            send_buffer_bytes: Some(100 << 10),
            connections_max: 20_000,
            connections_per_address_max: 20_000,
            connection_idle_max: Duration::from_secs(600),
            frame_timeout: Duration::from_secs(30),
            free_bytes_min: None,
            // Kafka waits 3 s for more members; a sidecar's services come one by one and want to start (trap 6).
            group_initial_rebalance_delay: Duration::ZERO,
            group_session_timeout_min: Duration::from_secs(6),
            group_session_timeout_max: Duration::from_secs(1800),
            group_size_max: i32::MAX as usize,
            offsets_partitions: 50,
            offset_metadata_bytes_max: 4096,
            offsets_retention: Duration::from_secs(7 * 24 * 3600),
            transactions_partitions: 50,
            transaction_timeout_max: Duration::from_secs(900),
            transactional_id_expiration: Duration::from_secs(7 * 24 * 3600),
            fetch_bytes_max: 55 << 20,
            fetch_sessions_max: 1_000,
            fetch_session_safe_for: Duration::from_secs(120),
            span_mode: BrokerSpanMode::Off,
            // Far above a sync on any disk that is well, below what a person waits for.
            span_slow: Duration::from_millis(100),
            given: BTreeSet::new(),
        }
    }

    /// Sets a value by its key.
    ///
    /// # Errors
    /// [`ConfigError`] when the key is not known or the value not of its kind.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let known = table().find(|setting| setting.key == key);
        let setting = known.ok_or_else(|| ConfigError::UnknownKey { key: key.to_owned(), nearest: nearest(key) })?;
        setting.take(self, value)?;
        self.given.insert(setting.key);
        Ok(())
    }

    /// Every key with its value, in the table's order. A value nobody set and that has no default is empty.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        table().map(|setting| (setting.key, (setting.show)(self))).collect()
    }

    /// Every key with what it takes, what it falls back to and what it does, in the table's order.
    #[must_use]
    pub fn described() -> Vec<SettingDescription> {
        let built_in = Self::new("", "");
        let described = |setting: &Setting| SettingDescription {
            key: setting.key,
            kind: setting.kind.name(),
            expected: setting.expected,
            default: (setting.show)(&built_in),
            documentation: setting.documentation,
            is_dynamic: setting.is_dynamic(),
        };
        table().map(described).collect()
    }

    /// What holds for a topic that does not say otherwise.
    pub(crate) fn topic_defaults(&self) -> TopicValues {
        self.log.topic_defaults()
    }
}

/// A setting in words, for documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDescription {
    /// Its name.
    pub key: &'static str,
    /// What its values are: boolean, text, int, short, long, double, list.
    pub kind: &'static str,
    /// What values it takes, for a person.
    pub expected: &'static str,
    /// What holds when nobody sets it; empty for nothing.
    pub default: String,
    /// What it does, for a person.
    pub documentation: &'static str,
    /// Whether it can be changed while the broker runs.
    pub is_dynamic: bool,
}

/// A setting that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// No such key.
    #[error("unknown setting {key}; did you mean {nearest}?")]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The known key most like it.
        nearest: &'static str,
    },
    /// A value of the wrong kind or out of range.
    #[error("{key}={value} is not valid: expected {expected}")]
    InvalidValue {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What the key takes.
        expected: &'static str,
    },
}

/// Every row: the broker's own, then what concerns logs and topics.
pub(crate) fn table() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(LOG_SETTINGS)
}

/// The row of a key, be it one that is only kept.
pub(crate) fn setting(key: &str) -> Option<&'static Setting> {
    table().chain(KEPT).find(|setting| setting.key == key)
}

/// Kafka's settings of things that are not here: kept when somebody sets them at run time.
pub(crate) fn kept() -> impl Iterator<Item = &'static Setting> {
    KEPT.iter()
}

/// Settings that have no row of their own, for they are told apart before or follow from another one.
pub(crate) const FIXED_KEYS: [&str; 7] = [
    "advertised.listeners",
    "broker.id",
    "default.replication.factor",
    "delete.topic.enable",
    "listeners",
    "log.dirs",
    "offsets.topic.replication.factor",
];

/// The known key that shares most with `key`: longest common prefix and suffix together.
fn nearest(key: &str) -> &'static str {
    let common = |known: &str| {
        let front = known.bytes().zip(key.bytes()).take_while(|(left, right)| left == right).count();
        let back = known.bytes().rev().zip(key.bytes().rev()).take_while(|(left, right)| left == right).count();
        front + back
    };
    table().map(|setting| setting.key).max_by_key(|known| common(known)).unwrap_or("node.id")
}
