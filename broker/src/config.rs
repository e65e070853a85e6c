//! The broker's settings: Kafka's names and defaults where Kafka has them.

mod log_settings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

pub(crate) use log_settings::LogSettings;

use crate::topic_config::{ConfigKind, TopicValues};
use log_settings::LOG_SETTINGS;

/// What an acknowledgement promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Acknowledged and readable means synced to disk.
    Sync,
    /// Acknowledged and readable means written to the page cache, as a single Apache Kafka node does.
    Async,
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
        }
    }

    /// Sets a value by its key.
    ///
    /// # Errors
    /// [`ConfigError`] when the key is not known or the value not of its kind.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let setting = table().find(|setting| setting.key == key);
        let setting = setting.ok_or_else(|| ConfigError::UnknownKey { key: key.to_owned(), nearest: nearest(key) })?;
        (setting.apply)(self, value).ok_or_else(|| ConfigError::InvalidValue {
            key: setting.key,
            value: value.to_owned(),
            expected: setting.expected,
        })
    }

    /// Every key with its value, in the table's order. A value nobody set and that has no default is empty.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        table().map(|setting| (setting.key, (setting.show)(self))).collect()
    }

    /// Every key with the kind of its values, in the table's order.
    pub(crate) fn kinds() -> impl Iterator<Item = (&'static str, ConfigKind)> {
        table().map(|setting| (setting.key, setting.kind))
    }

    /// What holds for a topic that does not say otherwise.
    pub(crate) fn topic_defaults(&self) -> TopicValues {
        self.log.topic_defaults()
    }
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

/// One row of the table of settings.
struct Setting {
    key: &'static str,
    kind: ConfigKind,
    expected: &'static str,
    apply: fn(&mut BrokerConfig, &str) -> Option<()>,
    show: fn(&BrokerConfig) -> String,
}

/// A setting that is one number, within a range.
macro_rules! number {
    ($key:literal, $field:ident, $type:ty, $range:expr) => {
        Setting {
            key: $key,
            kind: if *($range).end() as i128 <= i32::MAX as i128 { ConfigKind::Int } else { ConfigKind::Long },
            expected: concat!("a number in ", stringify!($range)),
            apply: |config, value| {
                config.$field = value.parse::<$type>().ok().filter(|number| ($range).contains(number))?;
                Some(())
            },
            show: |config| config.$field.to_string(),
        }
    };
}

/// A setting that is a number of bytes within a range, or -1 for what `otherwise` says.
macro_rules! optional {
    ($key:literal, $field:ident, $type:ty, $range:expr, $otherwise:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::Long,
            expected: concat!("a number in ", stringify!($range), ", or -1 for ", $otherwise),
            apply: |config, value| {
                config.$field = match value {
                    "-1" => None,
                    _ => Some(value.parse::<$type>().ok().filter(|number| ($range).contains(number))?),
                };
                Some(())
            },
            show: |config| config.$field.map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string()),
        }
    };
}

/// A setting that is a time in a unit of so many milliseconds.
macro_rules! duration {
    ($key:literal, $field:ident, $unit_ms:literal, $kind:ident) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: "a number, 0 or more",
            apply: |config, value| {
                config.$field = Duration::from_millis(value.parse::<u64>().ok()?.checked_mul($unit_ms)?);
                Some(())
            },
            show: |config| (config.$field.as_millis() / $unit_ms).to_string(),
        }
    };
}

const SETTINGS: &[Setting] = &[
    number!("node.id", node_id, i32, 0..=i32::MAX),
    Setting {
        key: "log.durability",
        kind: ConfigKind::Text,
        expected: "sync or async",
        apply: |config, value| {
            config.durability = match value {
                "sync" => Durability::Sync,
                "async" => Durability::Async,
                _ => return None,
            };
            Some(())
        },
        show: |config| match config.durability {
            Durability::Sync => "sync".to_owned(),
            Durability::Async => "async".to_owned(),
        },
    },
    Setting {
        key: "auto.create.topics.enable",
        kind: ConfigKind::Boolean,
        expected: "true or false",
        apply: |config, value| {
            config.auto_create_topics = value.parse().ok()?;
            Some(())
        },
        show: |config| config.auto_create_topics.to_string(),
    },
    number!("num.partitions", default_partitions, i32, 1..=10_000),
    number!("socket.request.max.bytes", request_bytes_max, usize, 1_024..=1_073_741_824),
    optional!("queued.max.request.bytes", queued_request_bytes_max, usize, 1..=1 << 40, "no bound"),
    optional!("socket.send.buffer.bytes", send_buffer_bytes, usize, 1..=1 << 30, "what the kernel thinks best"),
    number!("max.connections", connections_max, usize, 1..=1_000_000),
    number!("max.connections.per.ip", connections_per_address_max, usize, 1..=1_000_000),
    duration!("connections.max.idle.ms", connection_idle_max, 1, Long),
    duration!("socket.frame.timeout.ms", frame_timeout, 1, Long),
    optional!("log.min.free.bytes", free_bytes_min, u64, 0..=u64::MAX, "the larger of 1 GiB and 5 % of the disk"),
    duration!("group.initial.rebalance.delay.ms", group_initial_rebalance_delay, 1, Int),
    duration!("group.min.session.timeout.ms", group_session_timeout_min, 1, Int),
    duration!("group.max.session.timeout.ms", group_session_timeout_max, 1, Int),
    number!("group.max.size", group_size_max, usize, 1..=2_147_483_647),
    number!("offsets.topic.num.partitions", offsets_partitions, i32, 1..=1_000),
    number!("offset.metadata.max.bytes", offset_metadata_bytes_max, usize, 0..=1_048_576),
    duration!("offsets.retention.minutes", offsets_retention, 60_000, Int),
    number!("transaction.state.log.num.partitions", transactions_partitions, i32, 1..=1_000),
    duration!("transaction.max.timeout.ms", transaction_timeout_max, 1, Int),
    duration!("transactional.id.expiration.ms", transactional_id_expiration, 1, Int),
    number!("fetch.max.bytes", fetch_bytes_max, usize, 1_024..=2_147_483_647),
    number!("max.incremental.fetch.session.cache.slots", fetch_sessions_max, usize, 0..=1_000_000),
    duration!("min.incremental.fetch.session.eviction.ms", fetch_session_safe_for, 1, Int),
];

/// Every row: the broker's own, then what concerns logs and topics.
fn table() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().chain(LOG_SETTINGS)
}

/// The known key that shares most with `key`: longest common prefix and suffix together.
fn nearest(key: &str) -> &'static str {
    let common = |known: &str| {
        let front = known.bytes().zip(key.bytes()).take_while(|(left, right)| left == right).count();
        let back = known.bytes().rev().zip(key.bytes().rev()).take_while(|(left, right)| left == right).count();
        front + back
    };
    table().map(|setting| setting.key).max_by_key(|known| common(known)).unwrap_or("node.id")
}
