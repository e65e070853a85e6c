//! A topic's settings as values: what was set on it over what the broker says for every topic.
//!
//! Parsed once, when a topic is made, changed or opened; a produce or a roll only reads a field.

use pillion_wire::records::{Compression, TimestampType};

/// What happens to old records (`cleanup.policy`). Neither: they stay for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CleanupPolicy {
    /// Segments beyond `retention.ms` or `retention.bytes` go.
    pub(crate) delete: bool,
    /// Of each key the latest record stays.
    pub(crate) compact: bool,
}

/// Every setting that has an effect, with Kafka's defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TopicValues {
    pub(super) batch_bytes_max: usize,
    pub(super) cleanup_policy: CleanupPolicy,
    /// `None` keeps each batch in its producer's codec.
    pub(super) compression: Option<Compression>,
    pub(super) decompressed_bytes_max: usize,
    pub(super) delete_retention_ms: i64,
    pub(super) file_delete_delay_ms: i64,
    pub(super) flush_messages: i64,
    /// Milliseconds; the broker's own default has a key of its own and may be unset.
    pub(crate) flush_ms: i64,
    pub(super) gzip_level: i32,
    pub(super) index_interval_bytes: u32,
    pub(super) lz4_level: i32,
    pub(super) max_compaction_lag_ms: i64,
    pub(super) min_cleanable_dirty_ratio: f64,
    pub(super) min_compaction_lag_ms: i64,
    pub(super) min_insync_replicas: i32,
    pub(super) preallocate: bool,
    pub(super) retention_bytes: i64,
    /// Milliseconds, −1 for ever; the broker says it in milliseconds, minutes or hours.
    pub(crate) retention_ms: i64,
    pub(super) segment_bytes: u64,
    pub(super) segment_index_bytes: u32,
    /// Milliseconds; the broker says it in milliseconds or hours.
    pub(crate) segment_jitter_ms: i64,
    /// Milliseconds; the broker says it in milliseconds or hours.
    pub(crate) segment_ms: i64,
    pub(super) timestamp_after_ms_max: i64,
    pub(super) timestamp_before_ms_max: i64,
    pub(super) timestamp_type: TimestampType,
    pub(super) unclean_leader_election: bool,
    pub(super) zstd_level: i32,
}

/// Kafka's default level of each codec that has levels.
const LEVELS: (i32, i32, i32) = (-1, 9, 3);

impl Default for TopicValues {
    fn default() -> Self {
        const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
        let (gzip_level, lz4_level, zstd_level) = LEVELS;
        Self {
            // 1 MiB and a batch's overhead.
            batch_bytes_max: 1_048_588,
            cleanup_policy: CleanupPolicy { delete: true, compact: false },
            compression: None,
            decompressed_bytes_max: 2_147_483_639,
            delete_retention_ms: 24 * 60 * 60 * 1000,
            file_delete_delay_ms: 60_000,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            gzip_level,
            index_interval_bytes: 4096,
            lz4_level,
            max_compaction_lag_ms: i64::MAX,
            min_cleanable_dirty_ratio: 0.5,
            min_compaction_lag_ms: 0,
            min_insync_replicas: 1,
            preallocate: false,
            retention_bytes: -1,
            retention_ms: WEEK_MS,
            segment_bytes: 1 << 30,
            segment_index_bytes: 10 << 20,
            segment_jitter_ms: 0,
            segment_ms: WEEK_MS,
            timestamp_after_ms_max: 60 * 60 * 1000,
            timestamp_before_ms_max: i64::MAX,
            timestamp_type: TimestampType::CreateTime,
            unclean_leader_election: false,
            zstd_level,
        }
    }
}

impl TopicValues {
    /// The level of the codec set; `None` where it has none or its own default is meant.
    pub(super) fn compression_level(&self) -> Option<i32> {
        match self.compression? {
            Compression::Gzip => Some(self.gzip_level).filter(|level| *level != LEVELS.0),
            Compression::Lz4 => Some(self.lz4_level),
            Compression::Zstd => Some(self.zstd_level),
            Compression::None | Compression::Snappy => None,
        }
    }
}
