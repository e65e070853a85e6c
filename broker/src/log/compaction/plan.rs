//! Which logs are to be cleaned, how far, and which segments go together into one.
//!
//! Pure. The rules are those of Kafka's log cleaner, so that `min.cleanable.dirty.ratio` and its neighbours mean the
//! same. Invariant: neither the active segment, nor what is above the high watermark or the last stable offset, nor
//! what `min.compaction.lag.ms` protects is below the bound of a plan.

#[cfg(test)]
mod tests;

use std::ops::Range;

/// What a plan needs to know of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentFacts {
    /// Its base offset.
    pub(crate) base_offset: i64,
    /// Bytes of its batches.
    pub(crate) bytes: u64,
    /// Bytes of its offset index.
    pub(crate) offset_index_bytes: u64,
    /// Bytes of its time index.
    pub(crate) time_index_bytes: u64,
    /// The largest timestamp of its batches; −1 when none has one: it then counts as old.
    pub(crate) max_timestamp: i64,
    /// The largest timestamp of its first batch; −1 when there is none.
    pub(crate) first_timestamp: i64,
}

/// What a plan needs to know of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogFacts<'a> {
    /// Its segments in order, the active one last.
    pub(crate) segments: &'a [SegmentFacts],
    /// First offset there is.
    pub(crate) log_start_offset: i64,
    /// Offset the next record gets.
    pub(crate) log_end_offset: i64,
    /// Offset behind what consumers may see.
    pub(crate) high_watermark: i64,
    /// Offset behind what consumers of committed transactions may see.
    pub(crate) last_stable_offset: i64,
    /// Offset behind what was cleaned, from `cleaner-offset-checkpoint`.
    pub(crate) cleaned_to: Option<i64>,
}

/// A topic's settings of compaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompactionConfig {
    /// `min.cleanable.dirty.ratio`: the share of dirty bytes above which a log is cleaned.
    pub(crate) min_cleanable_dirty_ratio: f64,
    /// `min.compaction.lag.ms`: how long a record stays as it is.
    pub(crate) min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`: when a record must be compacted whatever the ratio.
    pub(crate) max_compaction_lag_ms: i64,
}

/// What of a log can be cleaned now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cleanable {
    /// Offset from which nothing was cleaned yet.
    pub(crate) first_dirty_offset: i64,
    /// Base offset of the first segment that must not be cleaned.
    pub(crate) bound: i64,
    /// Bytes of the segments before the dirty ones.
    pub(crate) clean_bytes: u64,
    /// Bytes of the dirty segments below the bound.
    pub(crate) cleanable_bytes: u64,
    /// Whether a dirty record is older than `max.compaction.lag.ms`.
    pub(crate) overdue: bool,
    /// Whether the checkpoint lies outside the log, and is to be replaced by `first_dirty_offset`.
    pub(crate) checkpoint_invalid: bool,
}

impl Cleanable {
    /// What can be cleaned of the log at `now_ms`.
    pub(crate) fn of(log: &LogFacts<'_>, config: &CompactionConfig, now_ms: i64) -> Self {
        let checkpoint = log.cleaned_to.unwrap_or(log.log_start_offset);
        let checkpoint_invalid = !(log.log_start_offset..=log.log_end_offset).contains(&checkpoint);
        let first_dirty_offset = if checkpoint_invalid { log.log_start_offset } else { checkpoint };
        let dirty_from = containing(log.segments, first_dirty_offset);
        let sealed = log.segments.len().saturating_sub(1);
        let dirty = &log.segments[dirty_from.min(sealed)..sealed];

        let young_from = now_ms.saturating_sub(config.min_compaction_lag_ms);
        let young = dirty.iter().position(|segment| segment.max_timestamp > young_from.max(-1));
        let young = young.filter(|_| config.min_compaction_lag_ms > 0).map_or(sealed, |at| dirty_from + at);
        let stable = log.high_watermark.min(log.last_stable_offset);
        // A segment is cleaned whole or not at all.
        let bound_at = young.min(containing(log.segments, stable)).min(sealed);
        let bound = log.segments.get(bound_at).map_or(first_dirty_offset, |segment| segment.base_offset);

        let clean = log.segments.iter().filter(|segment| segment.base_offset < first_dirty_offset);
        let cleanable = log.segments.get(dirty_from..bound_at).unwrap_or_default();
        let must_be_younger = now_ms.saturating_sub(config.max_compaction_lag_ms.max(0));
        let overdue = dirty.iter().any(|segment| (1..must_be_younger).contains(&segment.first_timestamp));
        Self {
            first_dirty_offset,
            bound,
            clean_bytes: clean.map(|segment| segment.bytes).sum(),
            cleanable_bytes: cleanable.iter().map(|segment| segment.bytes).sum(),
            overdue,
            checkpoint_invalid,
        }
    }

    /// The share of bytes that were not cleaned yet, of those that may be: 0 to 1.
    pub(crate) fn ratio(&self) -> f64 {
        match self.clean_bytes + self.cleanable_bytes {
            0 => 0.0,
            total => self.cleanable_bytes as f64 / total as f64,
        }
    }

    /// Whether the log is to be cleaned.
    pub(crate) fn is_due(&self, config: &CompactionConfig) -> bool {
        self.cleanable_bytes > 0 && (self.overdue || self.ratio() > config.min_cleanable_dirty_ratio)
    }
}

/// Of logs that are due, the one with the largest dirty ratio.
pub(crate) fn filthiest<L>(due: impl IntoIterator<Item = (L, Cleanable)>) -> Option<(L, Cleanable)> {
    due.into_iter().max_by(|(_, left), (_, right)| left.ratio().total_cmp(&right.ratio()))
}

/// Groups `segments`, of which the last ends before offset `end`, into runs that make one segment each: no more bytes
/// than `segment_bytes`, no more of either index than `index_bytes`, and offsets that fit an index. Never more than one
/// group when all fit, so that segments do not stay small for ever; a segment too large for itself is alone.
pub(crate) fn group_segments(
    segments: &[SegmentFacts],
    end: i64,
    segment_bytes: u64,
    index_bytes: u64,
) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let (mut bytes, mut offset_index, mut time_index) = (0, 0, 0);
    for (at, segment) in segments.iter().enumerate() {
        let last_offset = segments.get(at + 1).map_or(end, |next| next.base_offset) - 1;
        bytes += segment.bytes;
        offset_index += segment.offset_index_bytes;
        time_index += segment.time_index_bytes;
        let fits = |group: &Range<usize>| {
            let span = last_offset - segments[group.start].base_offset;
            bytes <= segment_bytes
                && offset_index.max(time_index) <= index_bytes
                && (segment.bytes == 0 || span <= i64::from(i32::MAX))
        };
        match groups.last_mut().filter(|group| fits(group)) {
            Some(group) => group.end = at + 1,
            None => {
                groups.push(at..at + 1);
                (bytes, offset_index, time_index) =
                    (segment.bytes, segment.offset_index_bytes, segment.time_index_bytes);
            }
        }
    }
    groups
}

/// Index of the segment that holds `offset`; 0 for one before the first.
fn containing(segments: &[SegmentFacts], offset: i64) -> usize {
    segments.partition_point(|segment| segment.base_offset <= offset).saturating_sub(1)
}
