//! A topic's settings: Kafka's keys and defaults, which values are taken, and those the broker acts on.

use std::collections::BTreeMap;

use pillion_wire::records::{Compression, TimestampType};
use thiserror::Error;

/// Kinds of values, as DescribeConfigs numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub(crate) enum ConfigKind {
    /// true or false.
    Boolean = 1,
    /// Text.
    Text = 2,
    /// A 32-bit number.
    Int = 3,
    /// A 64-bit number.
    Long = 5,
    /// A fraction.
    Double = 6,
    /// Texts with commas between them.
    List = 7,
}

/// A key a topic may have.
pub(crate) struct TopicConfigKey {
    /// Its name.
    pub(crate) name: &'static str,
    /// What its values are.
    pub(crate) kind: ConfigKind,
    /// Its value unless set; `None` where the broker's own setting is the default.
    pub(crate) default: Option<&'static str>,
    /// What it does, for a person.
    pub(crate) documentation: &'static str,
    /// Whether a value is taken.
    accepts: fn(&str) -> bool,
}

const fn key(
    name: &'static str,
    kind: ConfigKind,
    default: Option<&'static str>,
    accepts: fn(&str) -> bool,
    documentation: &'static str,
) -> TopicConfigKey {
    TopicConfigKey { name, kind, default, documentation, accepts }
}

fn codec(value: &str) -> Option<Compression> {
    match value {
        "uncompressed" => Some(Compression::None),
        "gzip" => Some(Compression::Gzip),
        "snappy" => Some(Compression::Snappy),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    }
}

fn is_boolean(value: &str) -> bool {
    matches!(value, "true" | "false")
}

fn is_count(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number >= 0)
}

fn is_count_or_unlimited(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number >= -1)
}

fn is_int_count(value: &str) -> bool {
    value.parse::<i32>().is_ok_and(|number| number >= 0)
}

fn is_positive_int(value: &str) -> bool {
    value.parse::<i32>().is_ok_and(|number| number >= 1)
}

fn is_fraction(value: &str) -> bool {
    value.parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number))
}

fn is_cleanup_policy(value: &str) -> bool {
    value.split(',').all(|part| matches!(part.trim(), "delete" | "compact"))
}

use ConfigKind::{Boolean, Double, Int, List, Long, Text};

/// Every key, by name. Values that this broker does not honour yet are refused, not ignored.
pub(crate) static TOPIC_CONFIG_KEYS: &[TopicConfigKey] = &[
    key("cleanup.policy", List, Some("delete"), is_cleanup_policy, "delete old segments, compact by key, or both"),
    key(
        "compression.type",
        Text,
        Some("producer"),
        |value| value == "producer" || codec(value).is_some(),
        "codec batches are kept in; the producer's own unless set",
    ),
    key("delete.retention.ms", Long, Some("86400000"), is_count, "how long a compacted topic keeps tombstones"),
    key("file.delete.delay.ms", Long, Some("60000"), is_count, "how long a deleted segment's file stays"),
    key(
        "flush.messages",
        Long,
        Some("9223372036854775807"),
        is_count,
        "records between syncs; acknowledged records are synced anyway unless log.durability=async",
    ),
    key("flush.ms", Long, Some("9223372036854775807"), is_count, "time between syncs, as flush.messages"),
    key("index.interval.bytes", Int, Some("4096"), is_int_count, "bytes of records between index entries"),
    key("max.compaction.lag.ms", Long, Some("9223372036854775807"), is_count, "how long a record may stay uncompacted"),
    key("max.message.bytes", Int, None, is_int_count, "the largest batch"),
    key(
        "message.timestamp.after.max.ms",
        Long,
        Some("3600000"),
        is_count,
        "how far a timestamp may be ahead of the broker's clock",
    ),
    key(
        "message.timestamp.before.max.ms",
        Long,
        Some("9223372036854775807"),
        is_count,
        "how far a timestamp may be behind the broker's clock",
    ),
    key(
        "message.timestamp.type",
        Text,
        Some("CreateTime"),
        |value| matches!(value, "CreateTime" | "LogAppendTime"),
        "who sets timestamps: the producer, or the broker at the append",
    ),
    key(
        "min.cleanable.dirty.ratio",
        Double,
        Some("0.5"),
        is_fraction,
        "share of uncompacted bytes that starts a compaction",
    ),
    key("min.compaction.lag.ms", Long, Some("0"), is_count, "how long a record stays uncompacted at least"),
    key("min.insync.replicas", Int, Some("1"), is_positive_int, "replicas that must have a record; this broker is one"),
    key(
        "preallocate",
        Boolean,
        Some("false"),
        is_boolean,
        "make segment files at full size; files are grown ahead anyway",
    ),
    key("retention.bytes", Long, Some("-1"), is_count_or_unlimited, "bytes a partition keeps; -1 for all"),
    key("retention.ms", Long, Some("604800000"), is_count_or_unlimited, "time a partition keeps records; -1 for ever"),
    key(
        "segment.bytes",
        Int,
        None,
        |value| value.parse::<i32>().is_ok_and(|number| number >= 14),
        "size at which a segment is closed",
    ),
    key(
        "segment.index.bytes",
        Int,
        Some("10485760"),
        |value| value.parse::<i32>().is_ok_and(|number| number >= 4),
        "size of an index at which its segment is closed",
    ),
    key("segment.jitter.ms", Long, Some("0"), is_count, "spread of segment.ms, so that not all segments close at once"),
    key(
        "segment.ms",
        Long,
        Some("604800000"),
        |value| value.parse::<i64>().is_ok_and(|number| number >= 1),
        "age at which a segment is closed",
    ),
    key(
        "unclean.leader.election.enable",
        Boolean,
        Some("false"),
        is_boolean,
        "let a replica that is behind lead; there is one replica",
    ),
];

/// A setting that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum TopicConfigError {
    /// No such key.
    #[error("unknown topic config {0}")]
    UnknownKey(String),
    /// No such value of the key.
    #[error("value {value} of {key} is not valid or not supported")]
    InvalidValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
}

/// What was set on a topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TopicConfig {
    entries: BTreeMap<String, String>,
}

impl TopicConfig {
    /// Checks and takes what was set.
    ///
    /// # Errors
    /// [`TopicConfigError`] for the first entry that is not taken.
    pub(crate) fn new(entries: impl IntoIterator<Item = (String, String)>) -> Result<Self, TopicConfigError> {
        let entries = entries.into_iter().map(|(name, value)| {
            let Some(key) = TOPIC_CONFIG_KEYS.iter().find(|key| key.name == name) else {
                return Err(TopicConfigError::UnknownKey(name));
            };
            if (key.accepts)(&value) {
                Ok((name, value))
            } else {
                Err(TopicConfigError::InvalidValue { key: name, value })
            }
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }

    /// What was set, by key.
    pub(crate) fn entries(&self) -> &BTreeMap<String, String> {
        &self.entries
    }

    /// Whether records need keys.
    pub(crate) fn is_compacted(&self) -> bool {
        self.entries.get("cleanup.policy").is_some_and(|policy| policy.split(',').any(|part| part.trim() == "compact"))
    }

    /// `max.message.bytes`, if set.
    pub(crate) fn batch_bytes_max(&self) -> Option<usize> {
        self.number("max.message.bytes")
    }

    /// `segment.bytes`, if set.
    pub(crate) fn segment_bytes(&self) -> Option<u64> {
        self.number("segment.bytes")
    }

    /// `message.timestamp.before.max.ms`.
    pub(crate) fn timestamp_before_ms_max(&self) -> i64 {
        self.number("message.timestamp.before.max.ms").unwrap_or(i64::MAX)
    }

    /// `message.timestamp.after.max.ms`.
    pub(crate) fn timestamp_after_ms_max(&self) -> i64 {
        self.number("message.timestamp.after.max.ms").unwrap_or(3_600_000)
    }

    /// The codec that batches are kept in; `None` keeps each in its producer's own.
    pub(crate) fn compression(&self) -> Option<Compression> {
        codec(self.entries.get("compression.type")?)
    }

    /// The level to compress with; `None` where the codec has none, or its own default is meant.
    pub(crate) fn compression_level(&self) -> Option<i32> {
        None
    }

    /// Who sets timestamps.
    pub(crate) fn timestamp_type(&self) -> TimestampType {
        match self.entries.get("message.timestamp.type").map(String::as_str) {
            Some("LogAppendTime") => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        }
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.entries.get(name)?.parse().ok()
    }
}
