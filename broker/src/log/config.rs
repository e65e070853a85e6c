//! What a log's owner decides about it: Kafka's topic settings, as far as the log acts on them.

/// A log's settings; topics share one between their partitions, and replace it when a setting changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogConfig {
    /// Size at which a segment is closed and the next begun, in bytes (`segment.bytes`).
    pub(crate) segment_bytes: u64,
    /// Age at which it is, in milliseconds, by the records' timestamps (`segment.ms`).
    pub(crate) segment_ms: i64,
    /// Up to so much is taken off `segment_ms`, so that not all logs roll at once (`segment.jitter.ms`).
    pub(crate) segment_jitter_ms: i64,
    /// Size of an index at which its segment is closed, in bytes (`segment.index.bytes`).
    pub(crate) segment_index_bytes: u32,
    /// Bytes of batches between index entries (`index.interval.bytes`).
    pub(crate) index_interval_bytes: u32,
    /// How far a busy log's file is grown ahead of its end, in bytes; 0 grows it by each append.
    pub(crate) grow_ahead_bytes: u64,
    /// Records after which a sync is due even when nobody waits for one (`flush.messages`).
    pub(crate) flush_messages: i64,
    /// Milliseconds after which a sync is due even when nobody waits for one (`flush.ms`).
    pub(crate) flush_ms: i64,
    /// Milliseconds that records are kept; −1 for ever (`retention.ms`).
    pub(crate) retention_ms: i64,
    /// Bytes that are kept; −1 for all (`retention.bytes`).
    pub(crate) retention_bytes: i64,
    /// Milliseconds that a deleted segment's files stay under another name (`file.delete.delay.ms`).
    pub(crate) file_delete_delay_ms: i64,
    /// Whether old segments are deleted (`cleanup.policy` holds `delete`).
    pub(crate) delete: bool,
    /// Whether only the latest record of a key is kept (`cleanup.policy` holds `compact`).
    pub(crate) compact: bool,
    /// Milliseconds that a tombstone stays once compaction met it (`delete.retention.ms`).
    pub(crate) delete_retention_ms: i64,
    /// Share of uncompacted bytes that starts a compaction (`min.cleanable.dirty.ratio`).
    pub(crate) min_cleanable_dirty_ratio: f64,
    /// Milliseconds that a record stays uncompacted at least (`min.compaction.lag.ms`).
    pub(crate) min_compaction_lag_ms: i64,
    /// Milliseconds after which it is compacted whatever the ratio (`max.compaction.lag.ms`).
    pub(crate) max_compaction_lag_ms: i64,
}

impl Default for LogConfig {
    /// Kafka's defaults.
    fn default() -> Self {
        const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
        Self {
            segment_bytes: 1 << 30,
            segment_ms: WEEK_MS,
            segment_jitter_ms: 0,
            segment_index_bytes: 10 << 20,
            index_interval_bytes: 4096,
            grow_ahead_bytes: 1 << 20,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            retention_ms: WEEK_MS,
            retention_bytes: -1,
            file_delete_delay_ms: 60_000,
            delete: true,
            compact: false,
            delete_retention_ms: 24 * 60 * 60 * 1000,
            min_cleanable_dirty_ratio: 0.5,
            min_compaction_lag_ms: 0,
            max_compaction_lag_ms: i64::MAX,
        }
    }
}
