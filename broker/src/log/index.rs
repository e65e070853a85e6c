//! A segment's sparse index: one entry for every few kilobytes of batches, in memory.
//!
//! It answers where to begin to look for an offset or a timestamp; from there a reader goes batch by batch.

/// Bytes of batches between entries (Kafka's `index.interval.bytes`).
const INTERVAL_BYTES: u64 = 4096;

/// One entry: a batch's base offset and position, and the largest timestamp before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    relative_offset: u32,
    position: u32,
    max_timestamp_before: i64,
}

/// Entries in order of offsets and positions; the segment's first batch needs none.
#[derive(Debug, Default)]
pub(super) struct SparseIndex {
    entries: Vec<Entry>,
    bytes_since_entry: u64,
}

impl SparseIndex {
    /// Notes a batch of `size` bytes, when enough went by since the last entry.
    pub(super) fn note(&mut self, relative_offset: i64, position: u64, size: u64, max_timestamp_before: i64) {
        if self.bytes_since_entry >= INTERVAL_BYTES
            && let (Ok(relative_offset), Ok(position)) = (u32::try_from(relative_offset), u32::try_from(position))
        {
            self.entries.push(Entry { relative_offset, position, max_timestamp_before });
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += size;
    }

    /// Position of a batch at or before the one that holds `relative_offset`.
    pub(super) fn position_before(&self, relative_offset: i64) -> u64 {
        let behind = self.entries.partition_point(|entry| i64::from(entry.relative_offset) <= relative_offset);
        self.position_of(behind)
    }

    /// Position of a batch at or before the first one with a timestamp of at least `timestamp`.
    pub(super) fn position_before_timestamp(&self, timestamp: i64) -> u64 {
        self.position_of(self.entries.partition_point(|entry| entry.max_timestamp_before < timestamp))
    }

    fn position_of(&self, entries: usize) -> u64 {
        entries.checked_sub(1).map_or(0, |index| u64::from(self.entries[index].position))
    }
}
