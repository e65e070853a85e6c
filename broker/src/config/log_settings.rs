//! The broker's settings of logs: what every topic falls back to, and how the logs are kept in order.
//!
//! Kafka's names, defaults and precedence: `log.retention.ms` over `.minutes` over `.hours`, and likewise for rolling.
//! Rows that a topic inherits take their values, kinds and ranges from the topic settings' own table.

use std::time::Duration;

use super::{Setting, TakesEffect};
use crate::topic_config::{ConfigKind, TopicConfigKey, TopicValues, topic_config_key};

const HOUR_MS: i64 = 60 * 60 * 1000;

/// What concerns logs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogSettings {
    /// What topics inherit, but for the times below, which have several keys.
    topics: TopicValues,
    retention_ms: Option<i64>,
    retention_minutes: Option<i64>,
    retention_hours: i64,
    roll_ms: Option<i64>,
    roll_hours: i64,
    roll_jitter_ms: Option<i64>,
    roll_jitter_hours: i64,
    flush_interval_ms: Option<i64>,
    /// `log.cleaner.enable`: whether topics are compacted at all.
    pub(crate) cleaner_enabled: bool,
    /// `log.cleaner.dedupe.buffer.size`: bytes of keys that compaction holds at once.
    pub(crate) cleaner_dedupe_buffer_bytes: usize,
    /// `log.cleaner.backoff.ms`: how long compaction rests when there is nothing to do.
    pub(crate) cleaner_backoff: Duration,
    /// `log.retention.check.interval.ms`: how often old segments are looked for.
    pub(crate) retention_check_interval: Duration,
    /// `log.flush.offset.checkpoint.interval.ms`: how often recovery points are written down.
    pub(crate) offset_checkpoint_interval: Duration,
    /// `num.recovery.threads.per.data.dir`: logs opened at once.
    pub(crate) recovery_threads: usize,
    /// `producer.id.expiration.ms`: how long an idle producer is remembered.
    pub(crate) producer_id_expiration: Duration,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            topics: TopicValues::default(),
            retention_ms: None,
            retention_minutes: None,
            retention_hours: 7 * 24,
            roll_ms: None,
            roll_hours: 7 * 24,
            roll_jitter_ms: None,
            roll_jitter_hours: 0,
            flush_interval_ms: None,
            cleaner_enabled: true,
            // Kafka takes 128 MiB. This holds 236,000 keys a round, of a broker that is to stay below 48 MiB; more keys
            // take more rounds.
            cleaner_dedupe_buffer_bytes: 8 << 20,
            cleaner_backoff: Duration::from_secs(15),
            retention_check_interval: Duration::from_secs(300),
            offset_checkpoint_interval: Duration::from_secs(60),
            recovery_threads: 2,
            producer_id_expiration: Duration::from_secs(24 * 3600),
        }
    }
}

impl LogSettings {
    /// What topics inherit.
    pub(super) fn topic_defaults(&self) -> TopicValues {
        let retention = self.retention_ms.or(self.retention_minutes.map(|minutes| minutes * 60 * 1000));
        let mut topics = self.topics;
        topics.retention_ms = retention.unwrap_or(self.retention_hours * HOUR_MS).max(-1);
        topics.segment_ms = self.roll_ms.unwrap_or(self.roll_hours * HOUR_MS);
        topics.segment_jitter_ms = self.roll_jitter_ms.unwrap_or(self.roll_jitter_hours * HOUR_MS);
        topics.flush_ms = self.flush_interval_ms.unwrap_or(topics.flush_ms);
        topics
    }
}

/// A setting that topics inherit as it is.
macro_rules! inherited {
    ($key:literal, $topic_key:literal) => {
        Setting {
            key: $key,
            kind: topic_config_key($topic_key).kind,
            expected: topic_config_key($topic_key).expected,
            documentation: topic_config_key($topic_key).documentation,
            takes_effect: TakesEffect::AtRunTime,
            apply: |config, value| {
                const KEY: &TopicConfigKey = topic_config_key($topic_key);
                (KEY.take)(&mut config.log.topics, value.trim()).map(|_| ())
            },
            show: |config| {
                const KEY: &TopicConfigKey = topic_config_key($topic_key);
                (KEY.show)(&config.log.topics)
            },
        }
    };
}

/// A time that may be unset; another key holds then.
macro_rules! optional {
    ($kind:ident $key:literal, $field:ident, $when:ident, $expected:literal, $accepts:expr, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: $expected,
            documentation: $documentation,
            takes_effect: TakesEffect::$when,
            apply: |config, value| {
                config.log.$field = Some(number(ConfigKind::$kind, value).filter($accepts)?);
                Some(())
            },
            show: |config| config.log.$field.map_or_else(String::new, |value| value.to_string()),
        }
    };
}

/// A number of hours.
macro_rules! hours {
    ($key:literal, $field:ident, $expected:literal, $accepts:expr, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::Int,
            expected: $expected,
            documentation: $documentation,
            takes_effect: TakesEffect::AtStart,
            apply: |config, value| {
                config.log.$field = number(ConfigKind::Int, value).filter($accepts)?;
                Some(())
            },
            show: |config| config.log.$field.to_string(),
        }
    };
}

/// A time in milliseconds.
macro_rules! milliseconds {
    ($kind:ident $key:literal, $field:ident, $when:ident, $first:literal, $documentation:literal) => {
        Setting {
            key: $key,
            kind: ConfigKind::$kind,
            expected: concat!("a number of milliseconds of at least ", $first),
            documentation: $documentation,
            takes_effect: TakesEffect::$when,
            apply: |config, value| {
                let number = number(ConfigKind::$kind, value).filter(|number| *number >= $first)?;
                config.log.$field = Duration::from_millis(u64::try_from(number).ok()?);
                Some(())
            },
            show: |config| config.log.$field.as_millis().to_string(),
        }
    };
}

/// A whole number as large as its kind allows.
fn number(kind: ConfigKind, value: &str) -> Option<i64> {
    let number = value.trim().parse().ok()?;
    (kind != ConfigKind::Int || i32::try_from(number).is_ok()).then_some(number)
}

/// −1 for ever, or at least 1: Kafka refuses 0, which would delete everything at once.
fn is_retention(number: &i64) -> bool {
    *number == -1 || *number >= 1
}

/// The rows, in the order of their names.
pub(super) const LOG_SETTINGS: &[Setting] = &[
    inherited!("compression.gzip.level", "compression.gzip.level"),
    inherited!("compression.lz4.level", "compression.lz4.level"),
    inherited!("compression.type", "compression.type"),
    inherited!("compression.zstd.level", "compression.zstd.level"),
    milliseconds!(
        Long "log.cleaner.backoff.ms", cleaner_backoff, AtRunTime, 0, "how long compaction rests when nothing is due"
    ),
    Setting {
        key: "log.cleaner.dedupe.buffer.size",
        kind: ConfigKind::Long,
        expected: "a number of bytes of at least 1048576",
        documentation: "bytes that a compaction's keys may take; at least 1 MiB",
        takes_effect: TakesEffect::AtRunTime,
        apply: |config, value| {
            let bytes = value.trim().parse().ok().filter(|bytes| *bytes >= 1 << 20)?;
            config.log.cleaner_dedupe_buffer_bytes = bytes;
            Some(())
        },
        show: |config| config.log.cleaner_dedupe_buffer_bytes.to_string(),
    },
    inherited!("log.cleaner.delete.retention.ms", "delete.retention.ms"),
    Setting {
        key: "log.cleaner.enable",
        kind: ConfigKind::Boolean,
        expected: "true or false",
        documentation: "whether anything is compacted",
        takes_effect: TakesEffect::AtStart,
        apply: |config, value| {
            config.log.cleaner_enabled = value.trim().to_ascii_lowercase().parse().ok()?;
            Some(())
        },
        show: |config| config.log.cleaner_enabled.to_string(),
    },
    inherited!("log.cleaner.max.compaction.lag.ms", "max.compaction.lag.ms"),
    inherited!("log.cleaner.min.cleanable.ratio", "min.cleanable.dirty.ratio"),
    inherited!("log.cleaner.min.compaction.lag.ms", "min.compaction.lag.ms"),
    inherited!("log.cleanup.policy", "cleanup.policy"),
    inherited!("log.flush.interval.messages", "flush.messages"),
    optional!(
        Long "log.flush.interval.ms", flush_interval_ms, AtRunTime, "a number of milliseconds of at least 0", |ms| *ms >= 0,
        "time after which a sync is due"
    ),
    milliseconds!(
        Int "log.flush.offset.checkpoint.interval.ms", offset_checkpoint_interval, AtStart, 0,
        "how often the checkpoint files are written"
    ),
    inherited!("log.index.interval.bytes", "index.interval.bytes"),
    inherited!("log.index.size.max.bytes", "segment.index.bytes"),
    inherited!("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms"),
    inherited!("log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms"),
    inherited!("log.message.timestamp.type", "message.timestamp.type"),
    inherited!("log.preallocate", "preallocate"),
    inherited!("log.retention.bytes", "retention.bytes"),
    milliseconds!(
        Long "log.retention.check.interval.ms", retention_check_interval, AtStart, 1,
        "how often retention looks for old segments"
    ),
    hours!(
        "log.retention.hours",
        retention_hours,
        "a number of hours of at least 1, or -1 for ever",
        is_retention,
        "hours a partition keeps records; -1 for ever"
    ),
    optional!(
        Int "log.retention.minutes", retention_minutes, AtStart, "a number of minutes of at least 1, or -1 for ever",
        is_retention, "minutes a partition keeps records; -1 for ever"
    ),
    optional!(
        Long "log.retention.ms", retention_ms, AtRunTime, "a number of milliseconds of at least 1, or -1 for ever",
        is_retention, "milliseconds a partition keeps records; -1 for ever"
    ),
    hours!(
        "log.roll.hours",
        roll_hours,
        "a number of hours of at least 1",
        |hours| *hours >= 1,
        "hours after which a segment is closed"
    ),
    hours!(
        "log.roll.jitter.hours",
        roll_jitter_hours,
        "a number of hours of at least 0",
        |hours| *hours >= 0,
        "spread of log.roll.hours"
    ),
    optional!(
        Long "log.roll.jitter.ms", roll_jitter_ms, AtRunTime, "a number of milliseconds of at least 0", |ms| *ms >= 0,
        "spread of log.roll.ms"
    ),
    optional!(
        Long "log.roll.ms", roll_ms, AtRunTime, "a number of milliseconds of at least 1", |ms| *ms >= 1,
        "milliseconds after which a segment is closed"
    ),
    inherited!("log.segment.bytes", "segment.bytes"),
    inherited!("log.segment.delete.delay.ms", "file.delete.delay.ms"),
    inherited!("max.decompressed.message.bytes", "max.decompressed.message.bytes"),
    inherited!("message.max.bytes", "max.message.bytes"),
    inherited!("min.insync.replicas", "min.insync.replicas"),
    Setting {
        key: "num.recovery.threads.per.data.dir",
        kind: ConfigKind::Int,
        expected: "a number from 1 to 256",
        documentation: "logs opened at once by a start",
        takes_effect: TakesEffect::AtRunTime,
        apply: |config, value| {
            config.log.recovery_threads = value.trim().parse().ok().filter(|threads| (1..=256).contains(threads))?;
            Some(())
        },
        show: |config| config.log.recovery_threads.to_string(),
    },
    milliseconds!(
        Int "producer.id.expiration.ms", producer_id_expiration, AtRunTime, 1, "how long a silent producer is remembered"
    ),
    inherited!("unclean.leader.election.enable", "unclean.leader.election.enable"),
];
