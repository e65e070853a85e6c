//! A topic's settings: which are taken, what they come to, and who falls back to what.
//!
//! Way of a setting: text from a request or the catalogue → the table in [`keys`] → [`TopicValues`], over the broker's
//! own → read by produce, the log and its housekeeping. Invariant: a [`TopicConfig`] holds only valid values.

mod change;
mod keys;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::collections::BTreeMap;

use pillion_wire::records::{Compression, TimestampType};
use thiserror::Error;

pub(crate) use change::{ConfigChange, NotAList};
pub(crate) use keys::{ConfigKind, TOPIC_CONFIG_KEYS, TopicConfigKey, topic_config_key};
pub(crate) use text::list;
pub(crate) use values::{CleanupPolicy, TopicValues};

/// A setting that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum TopicConfigError {
    /// No such key.
    #[error("unknown topic config {0}")]
    UnknownKey(String),
    /// No such value of the key.
    #[error("value {value} of {key} is not valid: expected {expected}")]
    InvalidValue {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What the key takes.
        expected: &'static str,
    },
    /// Two settings that exclude each other.
    #[error("min.compaction.lag.ms={min} is over max.compaction.lag.ms={max}")]
    CompactionLags {
        /// The smaller bound.
        min: i64,
        /// The larger one.
        max: i64,
    },
    /// A change that only lists can have.
    #[error("{0} is no list: it is set or deleted, nothing is appended to it or subtracted from it")]
    NoList(&'static str),
}

/// What was set on a topic, and what all its settings come to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopicConfig {
    entries: BTreeMap<&'static str, String>,
    values: TopicValues,
}

impl TopicConfig {
    /// A topic on which nothing was set.
    pub(crate) fn inherited(defaults: &TopicValues) -> Self {
        Self { entries: BTreeMap::new(), values: *defaults }
    }

    /// Checks and takes what was set, over the broker's own settings.
    ///
    /// # Errors
    /// [`TopicConfigError`] for the first entry that is not taken, or for two that exclude each other.
    pub(crate) fn new<N: AsRef<str>, V: AsRef<str>>(
        entries: impl IntoIterator<Item = (N, V)>,
        defaults: &TopicValues,
    ) -> Result<Self, TopicConfigError> {
        let config = Self::stored(entries, defaults)?;
        let (min, max) = (config.min_compaction_lag_ms(), config.max_compaction_lag_ms());
        if min > max { Err(TopicConfigError::CompactionLags { min, max }) } else { Ok(config) }
    }

    /// Takes what was accepted before. The broker's own settings may have changed since, so values that exclude each
    /// other are left to those who use them.
    ///
    /// # Errors
    /// [`TopicConfigError`] for the first entry that is not taken.
    pub(crate) fn stored<N: AsRef<str>, V: AsRef<str>>(
        entries: impl IntoIterator<Item = (N, V)>,
        defaults: &TopicValues,
    ) -> Result<Self, TopicConfigError> {
        let mut config = Self::inherited(defaults);
        for (name, value) in entries {
            let (name, value) = (name.as_ref(), value.as_ref());
            let key = find(name).ok_or_else(|| TopicConfigError::UnknownKey(name.to_owned()))?;
            let taken = (key.take)(&mut config.values, value.trim()).ok_or_else(|| TopicConfigError::InvalidValue {
                key: key.name,
                value: value.to_owned(),
                expected: key.expected,
            })?;
            config.entries.insert(key.name, taken);
        }
        Ok(config)
    }

    /// The same entries over other settings of the broker. Each was taken before, and is again.
    pub(crate) fn over(&self, defaults: &TopicValues) -> Self {
        let mut values = *defaults;
        for (name, value) in &self.entries {
            if let Some(key) = find(name) {
                (key.take)(&mut values, value);
            }
        }
        Self { entries: self.entries.clone(), values }
    }

    /// What was set, by key.
    pub(crate) fn entries(&self) -> &BTreeMap<&'static str, String> {
        &self.entries
    }

    /// What happens to old records.
    pub(crate) fn cleanup_policy(&self) -> CleanupPolicy {
        self.values.cleanup_policy
    }

    /// Whether records need keys.
    pub(crate) fn is_compacted(&self) -> bool {
        self.values.cleanup_policy.compact
    }

    /// The codec that batches are kept in; `None` keeps each in its producer's own.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.values.compression
    }

    /// The level to compress with; `None` where the codec has none, or its own default is meant.
    pub(crate) fn compression_level(&self) -> Option<i32> {
        self.values.compression_level()
    }

    /// Who sets timestamps.
    pub(crate) fn timestamp_type(&self) -> TimestampType {
        self.values.timestamp_type
    }
}

/// The key of a name.
fn find(name: &str) -> Option<&'static TopicConfigKey> {
    TOPIC_CONFIG_KEYS.iter().find(|key| key.name == name)
}

/// Values read as they are.
macro_rules! accessors {
    ($($(#[$documentation:meta])* $name:ident: $type:ty;)*) => {
        impl TopicConfig {
            $($(#[$documentation])* pub(crate) fn $name(&self) -> $type { self.values.$name })*
        }
    };
}

accessors! {
    /// `max.message.bytes`: the largest batch.
    batch_bytes_max: usize;
    /// `max.decompressed.message.bytes`: the largest batch once it is decompressed.
    decompressed_bytes_max: usize;
    /// `delete.retention.ms`: how long compaction keeps tombstones.
    delete_retention_ms: i64;
    /// `file.delete.delay.ms`: how long a deleted segment's files stay.
    file_delete_delay_ms: i64;
    /// `flush.messages`: records after which a sync is due.
    flush_messages: i64;
    /// `flush.ms`: time after which a sync is due.
    flush_ms: i64;
    /// `index.interval.bytes`: bytes of batches between index entries.
    index_interval_bytes: u32;
    /// `max.compaction.lag.ms`: how long a record may stay uncompacted.
    max_compaction_lag_ms: i64;
    /// `min.cleanable.dirty.ratio`: share of uncompacted bytes that starts a compaction, 0 to 1.
    min_cleanable_dirty_ratio: f64;
    /// `min.compaction.lag.ms`: how long a record stays uncompacted at least.
    min_compaction_lag_ms: i64;
    /// `retention.bytes`: bytes a partition keeps; below 0 for all.
    retention_bytes: i64;
    /// `retention.ms`: time a partition keeps records; −1 for ever.
    retention_ms: i64;
    /// `segment.bytes`: size at which a segment is closed.
    segment_bytes: u64;
    /// `segment.index.bytes`: size of an index at which its segment is closed.
    segment_index_bytes: u32;
    /// `segment.jitter.ms`: spread of `segment.ms`.
    segment_jitter_ms: i64;
    /// `segment.ms`: age at which a segment is closed.
    segment_ms: i64;
    /// `message.timestamp.after.max.ms`: how far a timestamp may be ahead of the broker's clock.
    timestamp_after_ms_max: i64;
    /// `message.timestamp.before.max.ms`: how far a timestamp may be behind the broker's clock.
    timestamp_before_ms_max: i64;
}
