//! The broker's settings of everything but logs, each with its kind, its range, and what it does.
//!
//! A row says whether its value can be changed while the broker runs: those that Kafka lets change and that are looked
//! at anew each time they are needed.

use std::time::Duration;

use super::{BrokerConfig, BrokerSpanMode, ConfigError, Durability};
use crate::topic_config::ConfigKind;

/// When a change of a setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakesEffect {
    /// With the next start: it is not changed while the broker runs.
    AtStart,
    /// At once.
    AtRunTime,
    /// Never: Kafka's setting of something that is not here.
    Never,
}

/// One row of the table of settings.
pub(crate) struct Setting {
    /// Its name.
    pub(crate) key: &'static str,
    /// What its values are.
    pub(crate) kind: ConfigKind,
    /// What values it takes, for a person.
    pub(super) expected: &'static str,
    /// What it does, for a person.
    pub(crate) documentation: &'static str,
    /// When a change of it takes effect.
    pub(crate) takes_effect: TakesEffect,
    pub(super) apply: fn(&mut BrokerConfig, &str) -> Option<()>,
    /// The value as text; empty when there is none.
    pub(crate) show: fn(&BrokerConfig) -> String,
}

impl Setting {
    /// Whether it can be changed while the broker runs.
    pub(crate) fn is_dynamic(&self) -> bool {
        self.takes_effect != TakesEffect::AtStart
    }

    /// Takes a text as the value.
    ///
    /// # Errors
    /// [`ConfigError::InvalidValue`] when it is none; nothing is changed then.
    pub(super) fn take(&self, config: &mut BrokerConfig, value: &str) -> Result<(), ConfigError> {
        (self.apply)(config, value).ok_or_else(|| ConfigError::InvalidValue {
            key: self.key,
            value: value.to_owned(),
            expected: self.expected,
        })
    }
}

/// A setting that is one number, within a range.
macro_rules! number {
    ($key:literal, $field:ident, $type:ty, $range:expr, $documentation:literal) => {
        Setting {
            key: $key,
            kind: if *($range).end() as i128 <= i32::MAX as i128 { ConfigKind::Int } else { ConfigKind::Long },
            expected: concat!("a number in ", stringify!($range)),
            documentation: $documentation,
            takes_effect: TakesEffect::AtStart,
            apply: |config, value| {
                config.$field = value.trim().parse::<$type>().ok().filter(|number| ($range).contains(number))?;
                Some(())
            },
            show: |config| config.$field.to_string(),
        }
    };
}

/// A setting that is a number of bytes within a range, or -1 for what `otherwise` says.
macro_rules! optional {
    ($key:literal, $field:ident, $kind:ident, $type:ty, $range:expr, $otherwise:literal, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: concat!("a number in ", stringify!($range), ", or -1 for ", $otherwise),
            documentation: $documentation,
            takes_effect: TakesEffect::AtStart,
            apply: |config, value| {
                config.$field = match value.trim() {
                    "-1" => None,
                    value => Some(value.parse::<$type>().ok().filter(|number| ($range).contains(number))?),
                };
                Some(())
            },
            show: |config| config.$field.map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string()),
        }
    };
}

/// A setting that is a time in a unit of so many milliseconds.
macro_rules! duration {
    ($key:literal, $field:ident, $unit_ms:literal, $kind:ident, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: "a number, 0 or more",
            documentation: $documentation,
            takes_effect: TakesEffect::AtStart,
            apply: |config, value| {
                config.$field = Duration::from_millis(value.trim().parse::<u64>().ok()?.checked_mul($unit_ms)?);
                Some(())
            },
            show: |config| (config.$field.as_millis() / $unit_ms).to_string(),
        }
    };
}

/// The rows.
pub(super) const SETTINGS: &[Setting] = &[
    number!("node.id", node_id, i32, 0..=i32::MAX, "the broker's id"),
    Setting {
        key: "log.durability",
        kind: ConfigKind::Text,
        expected: "sync or async",
        documentation: "what an acknowledgement promises: sync is on disk, async in the page cache",
        takes_effect: TakesEffect::AtStart,
        apply: |config, value| {
            config.durability = match value.trim() {
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
        documentation: "whether a topic is made when a client that wants it so asks for it",
        takes_effect: TakesEffect::AtStart,
        apply: |config, value| {
            config.auto_create_topics = value.trim().to_ascii_lowercase().parse().ok()?;
            Some(())
        },
        show: |config| config.auto_create_topics.to_string(),
    },
    number!("num.partitions", default_partitions, i32, 1..=10_000, "partitions of a topic made without a number"),
    number!("socket.request.max.bytes", request_bytes_max, usize, 1_024..=1_073_741_824, "the largest request"),
    optional!(
        "queued.max.request.bytes",
        queued_request_bytes_max,
        Long,
        usize,
        1..=1 << 40,
        "no bound",
        "bytes that requests above 4 KiB may take while they arrive and are worked on"
    ),
    optional!(
        "socket.send.buffer.bytes",
        send_buffer_bytes,
        Int,
        usize,
        1..=1 << 30,
        "what the kernel thinks best",
        "bytes of answers the kernel keeps for a client that has not taken them"
    ),
    Setting {
        takes_effect: TakesEffect::AtRunTime,
        ..number!("max.connections", connections_max, usize, 1..=2_147_483_647, "connections at a time")
    },
    Setting {
        takes_effect: TakesEffect::AtRunTime,
        ..number!(
            "max.connections.per.ip",
            connections_per_address_max,
            usize,
            1..=2_147_483_647,
            "connections at a time from one address"
        )
    },
    duration!(
        "connections.max.idle.ms",
        connection_idle_max,
        1,
        Long,
        "how long a connection may be silent before it is closed"
    ),
    duration!("socket.frame.timeout.ms", frame_timeout, 1, Long, "how long a begun request may take to arrive"),
    optional!(
        "log.min.free.bytes",
        free_bytes_min,
        Long,
        u64,
        0..=u64::MAX,
        "the larger of 1 GiB and 5 % of the disk",
        "free bytes of the disk below which producers are refused"
    ),
    duration!(
        "group.initial.rebalance.delay.ms",
        group_initial_rebalance_delay,
        1,
        Int,
        "how long a group's first rebalance waits for more members"
    ),
    duration!(
        "group.min.session.timeout.ms",
        group_session_timeout_min,
        1,
        Int,
        "the shortest session a member may have"
    ),
    duration!(
        "group.max.session.timeout.ms",
        group_session_timeout_max,
        1,
        Int,
        "the longest session a member may have"
    ),
    number!("group.max.size", group_size_max, usize, 1..=2_147_483_647, "members of one group"),
    number!("offsets.topic.num.partitions", offsets_partitions, i32, 1..=1_000, "partitions of __consumer_offsets"),
    number!(
        "offset.metadata.max.bytes",
        offset_metadata_bytes_max,
        usize,
        0..=1_048_576,
        "bytes of the text that may go with a committed offset"
    ),
    duration!(
        "offsets.retention.minutes",
        offsets_retention,
        60_000,
        Int,
        "how long the offsets of a group without members are kept"
    ),
    number!(
        "transaction.state.log.num.partitions",
        transactions_partitions,
        i32,
        1..=1_000,
        "partitions of __transaction_state"
    ),
    duration!(
        "transaction.max.timeout.ms",
        transaction_timeout_max,
        1,
        Int,
        "the longest timeout a producer may ask for its transactions"
    ),
    duration!(
        "transactional.id.expiration.ms",
        transactional_id_expiration,
        1,
        Int,
        "how long a transactional id that nobody uses is remembered"
    ),
    number!(
        "fetch.max.bytes",
        fetch_bytes_max,
        usize,
        1_024..=2_147_483_647,
        "the largest answer to a fetch, but for a batch that is larger"
    ),
    number!(
        "max.incremental.fetch.session.cache.slots",
        fetch_sessions_max,
        usize,
        0..=1_000_000,
        "fetch sessions; 0 for none"
    ),
    duration!(
        "min.incremental.fetch.session.eviction.ms",
        fetch_session_safe_for,
        1,
        Int,
        "how long a fetch session is safe from others"
    ),
    Setting {
        key: "telemetry.broker.spans",
        kind: ConfigKind::Text,
        expected: "off, sampled or slow",
        documentation: "which produced batches get spans: none, those with a sampled record, those that took long",
        takes_effect: TakesEffect::AtRunTime,
        apply: |config, value| {
            config.span_mode = match value.trim() {
                "off" => BrokerSpanMode::Off,
                "sampled" => BrokerSpanMode::Sampled,
                "slow" => BrokerSpanMode::Slow,
                _ => return None,
            };
            Some(())
        },
        show: |config| match config.span_mode {
            BrokerSpanMode::Off => "off".to_owned(),
            BrokerSpanMode::Sampled => "sampled".to_owned(),
            BrokerSpanMode::Slow => "slow".to_owned(),
        },
    },
    Setting {
        takes_effect: TakesEffect::AtRunTime,
        ..duration!(
            "telemetry.broker.slow.ms",
            span_slow,
            1,
            Long,
            "how long a batch takes until it is durable before it gets a span with telemetry.broker.spans=slow"
        )
    },
];
