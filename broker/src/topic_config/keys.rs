//! The table of a topic's settings: Kafka 4.4's keys, ranges and the broker settings they fall back to.
//!
//! One table is the source for what is accepted, described and inherited. `segment.bytes` goes below Kafka's 1 MiB on
//! purpose: people learn and test with small segments. Kafka's keys without a meaning on one node are checked and kept,
//! so that tools and adopted topics keep working.

use super::text;
use super::values::TopicValues;

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
    /// A 16-bit number.
    Short = 4,
    /// A 64-bit number.
    Long = 5,
    /// A fraction.
    Double = 6,
    /// Texts with commas between them.
    List = 7,
}

impl ConfigKind {
    /// Its name, for a person.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Text => "text",
            Self::Int => "int",
            Self::Short => "short",
            Self::Long => "long",
            Self::Double => "double",
            Self::List => "list",
        }
    }
}

/// A key a topic may have.
pub(crate) struct TopicConfigKey {
    /// Its name.
    pub(crate) name: &'static str,
    /// What its values are.
    pub(crate) kind: ConfigKind,
    /// The broker settings that hold where the topic does not say, the first one that is set winning.
    pub(crate) broker_keys: &'static [&'static str],
    /// What it does, for a person.
    pub(crate) documentation: &'static str,
    /// What values it takes, for a person.
    pub(crate) expected: &'static str,
    /// Takes a trimmed text as the value; answers it as it is written back, `None` when it is no value.
    pub(crate) take: fn(&mut TopicValues, &str) -> Option<String>,
    /// The value as text.
    pub(crate) show: fn(&TopicValues) -> String,
}

/// A number that has an effect.
macro_rules! number {
    ($kind:ident $name:literal, $field:ident: $type:ty, $first:literal..=$last:expr, $broker:expr, $documentation:literal) => {
        TopicConfigKey {
            name: $name,
            kind: ConfigKind::$kind,
            broker_keys: &$broker,
            documentation: $documentation,
            expected: concat!("a whole number from ", $first, " to ", stringify!($last)),
            take: |values, text| {
                values.$field = text::whole::<$type>(text, &($first..=$last))?;
                Some(values.$field.to_string())
            },
            show: |values| values.$field.to_string(),
        }
    };
    ($kind:ident $name:literal, $field:ident: $type:ty, $first:literal.., $broker:expr, $documentation:literal) => {
        TopicConfigKey {
            expected: concat!("a whole number of at least ", $first),
            ..number!($kind $name, $field: $type, $first..=largest!($kind) as $type, $broker, $documentation)
        }
    };
}

/// The largest number of a kind; fields may be wider.
macro_rules! largest {
    (Int) => {
        i32::MAX
    };
    (Long) => {
        i64::MAX
    };
}

/// A value of another kind that has an effect.
macro_rules! value {
    ($kind:ident $name:literal, $field:ident, $read:path, $show:expr, $expected:literal, $broker:expr, $documentation:literal) => {
        TopicConfigKey {
            name: $name,
            kind: ConfigKind::$kind,
            broker_keys: &$broker,
            documentation: $documentation,
            expected: $expected,
            take: |values, text| {
                values.$field = $read(text)?;
                Some($show(values.$field))
            },
            show: |values| $show(values.$field),
        }
    };
}

/// A value that is checked, kept and told, and has no effect.
macro_rules! kept {
    ($kind:ident $name:literal = $default:literal, $read:expr, $expected:literal, $documentation:literal) => {
        TopicConfigKey {
            name: $name,
            kind: ConfigKind::$kind,
            broker_keys: &[],
            documentation: $documentation,
            expected: $expected,
            take: |_, text| $read(text),
            show: |_| $default.to_owned(),
        }
    };
}

fn any_boolean(text: &str) -> Option<String> {
    text::kept(text::boolean(text))
}

fn never(text: &str) -> Option<String> {
    text::kept(text::boolean(text).filter(|wanted| !wanted))
}

fn from_minus_1(text: &str) -> Option<String> {
    text::kept(text::whole::<i64>(text, &(-1..=i64::MAX)))
}

fn from_minus_2(text: &str) -> Option<String> {
    text::kept(text::whole::<i64>(text, &(-2..=i64::MAX)))
}

/// Every key, by name.
pub(crate) const TOPIC_CONFIG_KEYS: &[TopicConfigKey] = &[
    TopicConfigKey {
        name: "cleanup.policy",
        kind: ConfigKind::List,
        broker_keys: &["log.cleanup.policy"],
        documentation: "delete old segments, compact by key, or both; empty keeps everything",
        expected: "a list of delete and compact",
        take: |values, text| {
            let (policy, written) = text::cleanup_policy(text)?;
            values.cleanup_policy = policy;
            Some(written)
        },
        show: |values| text::show_cleanup_policy(values.cleanup_policy),
    },
    value!(
        Int "compression.gzip.level", gzip_level, text::gzip_level, |level: i32| level.to_string(),
        "a whole number from 1 to 9, or -1", ["compression.gzip.level"],
        "level for compression.type=gzip; -1 for gzip's own default"
    ),
    number!(
        Int "compression.lz4.level", lz4_level: i32, 1..=17, ["compression.lz4.level"],
        "level for compression.type=lz4"
    ),
    value!(
        Text "compression.type", compression, text::compression, text::show_compression,
        "producer, uncompressed, gzip, snappy, lz4 or zstd", ["compression.type"],
        "codec batches are kept in; producer keeps each in its own, any other has batches recompressed"
    ),
    TopicConfigKey {
        expected: "a whole number from -131072 to 22",
        ..number!(
            Int "compression.zstd.level", zstd_level: i32, -131_072..=22, ["compression.zstd.level"],
            "level for compression.type=zstd"
        )
    },
    number!(
        Long "delete.retention.ms", delete_retention_ms: i64, 0.., ["log.cleaner.delete.retention.ms"],
        "how long compaction keeps tombstones"
    ),
    kept!(
        Boolean "errors.deadletterqueue.group.enable" = "false", any_boolean, "true or false",
        "for share groups, which this broker does not have; kept only"
    ),
    number!(
        Long "file.delete.delay.ms", file_delete_delay_ms: i64, 0.., ["log.segment.delete.delay.ms"],
        "how long a deleted segment's files stay"
    ),
    number!(
        Long "flush.messages", flush_messages: i64, 1.., ["log.flush.interval.messages"],
        "records after which a sync is due; acknowledged records are synced anyway unless log.durability=async"
    ),
    number!(
        Long "flush.ms", flush_ms: i64, 0.., ["log.flush.interval.ms"],
        "time after which a sync is due; acknowledged records are synced anyway unless log.durability=async"
    ),
    kept!(
        List "follower.replication.throttled.replicas" = "", text::throttled_replicas,
        "partition:broker pairs with commas between them, or *", "for replication, of which there is none; kept only"
    ),
    number!(
        Int "index.interval.bytes", index_interval_bytes: u32, 0.., ["log.index.interval.bytes"],
        "bytes of batches between index entries"
    ),
    kept!(
        List "leader.replication.throttled.replicas" = "", text::throttled_replicas,
        "partition:broker pairs with commas between them, or *", "for replication, of which there is none; kept only"
    ),
    kept!(
        Long "local.retention.bytes" = "-2", from_minus_2, "a whole number of at least -2",
        "for tiered storage, of which there is none; kept only"
    ),
    kept!(
        Long "local.retention.ms" = "-2", from_minus_2, "a whole number of at least -2",
        "for tiered storage, of which there is none; kept only"
    ),
    number!(
        Long "max.compaction.lag.ms", max_compaction_lag_ms: i64, 1.., ["log.cleaner.max.compaction.lag.ms"],
        "how long a record may stay uncompacted"
    ),
    TopicConfigKey {
        expected: "a whole number from 1 to 2147483639",
        ..number!(
            Int "max.decompressed.message.bytes", decompressed_bytes_max: usize, 1..=2_147_483_639,
            ["max.decompressed.message.bytes"], "the largest batch once it is decompressed"
        )
    },
    number!(Int "max.message.bytes", batch_bytes_max: usize, 0.., ["message.max.bytes"], "the largest batch"),
    number!(
        Long "message.timestamp.after.max.ms", timestamp_after_ms_max: i64, 0..,
        ["log.message.timestamp.after.max.ms"], "how far a timestamp may be ahead of the broker's clock"
    ),
    number!(
        Long "message.timestamp.before.max.ms", timestamp_before_ms_max: i64, 0..,
        ["log.message.timestamp.before.max.ms"], "how far a timestamp may be behind the broker's clock"
    ),
    value!(
        Text "message.timestamp.type", timestamp_type, text::timestamp_type, text::show_timestamp_type,
        "CreateTime or LogAppendTime", ["log.message.timestamp.type"],
        "who sets timestamps: the producer, or the broker as it appends"
    ),
    value!(
        Double "min.cleanable.dirty.ratio", min_cleanable_dirty_ratio, text::fraction, text::show_fraction,
        "a number from 0 to 1", ["log.cleaner.min.cleanable.ratio"], "share of uncompacted bytes that starts a compaction"
    ),
    number!(
        Long "min.compaction.lag.ms", min_compaction_lag_ms: i64, 0.., ["log.cleaner.min.compaction.lag.ms"],
        "how long a record stays uncompacted at least"
    ),
    number!(
        Int "min.insync.replicas", min_insync_replicas: i32, 1.., ["min.insync.replicas"],
        "replicas that must have a record; this broker is the one there is"
    ),
    value!(
        Boolean "preallocate", preallocate, text::boolean, |wanted: bool| wanted.to_string(), "true or false",
        ["log.preallocate"], "make segment files at full size; files are grown ahead anyway"
    ),
    kept!(
        Long "remote.copy.lag.bytes" = "-1", from_minus_1, "a whole number of at least -1",
        "for tiered storage, of which there is none; kept only"
    ),
    kept!(
        Long "remote.copy.lag.ms" = "0", from_minus_1, "a whole number of at least -1",
        "for tiered storage, of which there is none; kept only"
    ),
    kept!(
        Boolean "remote.log.copy.disable" = "false", any_boolean, "true or false",
        "for tiered storage, of which there is none; kept only"
    ),
    kept!(
        Boolean "remote.log.delete.on.disable" = "false", any_boolean, "true or false",
        "for tiered storage, of which there is none; kept only"
    ),
    kept!(
        Boolean "remote.storage.enable" = "false", never, "false, for there is no tiered storage",
        "keep old segments elsewhere; only false is taken"
    ),
    TopicConfigKey {
        expected: "a whole number; below 0 for all",
        ..number!(
            Long "retention.bytes", retention_bytes: i64, -9_223_372_036_854_775_808.., ["log.retention.bytes"],
            "bytes a partition keeps; -1 for all"
        )
    },
    number!(
        Long "retention.ms", retention_ms: i64, -1..,
        ["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
        "time a partition keeps records; -1 for ever"
    ),
    number!(
        Int "segment.bytes", segment_bytes: u64, 14.., ["log.segment.bytes"], "size at which a segment is closed"
    ),
    number!(
        Int "segment.index.bytes", segment_index_bytes: u32, 4.., ["log.index.size.max.bytes"],
        "size of an index at which its segment is closed"
    ),
    number!(
        Long "segment.jitter.ms", segment_jitter_ms: i64, 0.., ["log.roll.jitter.ms", "log.roll.jitter.hours"],
        "spread of segment.ms, so that not all segments are closed at once"
    ),
    number!(
        Long "segment.ms", segment_ms: i64, 1.., ["log.roll.ms", "log.roll.hours"],
        "age at which a segment is closed"
    ),
    value!(
        Boolean "unclean.leader.election.enable", unclean_leader_election, text::boolean,
        |wanted: bool| wanted.to_string(), "true or false", ["unclean.leader.election.enable"],
        "let a replica that is behind lead; there is one replica"
    ),
];

/// The key of a name that is known to be in the table: else this does not compile.
pub(crate) const fn topic_config_key(name: &str) -> &'static TopicConfigKey {
    let mut index = 0;
    while index < TOPIC_CONFIG_KEYS.len() {
        if is_same(TOPIC_CONFIG_KEYS[index].name.as_bytes(), name.as_bytes()) {
            return &TOPIC_CONFIG_KEYS[index];
        }
        index += 1;
    }
    panic!("no topic setting of this name")
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}
