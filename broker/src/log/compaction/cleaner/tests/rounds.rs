//! Rounds of cleaning over a history's segment files, and what is in them.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use pillion_wire::records::{DECOMPRESSED_BYTES_MAX, Record, read_batch};

use super::super::*;
use super::history::{History, Segments};
use crate::disk::{Disk, SimulatedDisk};
use crate::log::compaction::batches::OpenSegment;
use crate::log::compaction::plan::{SegmentFacts, group_segments};

/// How a log is cleaned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cleaning {
    pub(super) now_ms: i64,
    pub(super) first_dirty_offset: i64,
    pub(super) dedupe_buffer_bytes: usize,
    pub(super) chunk_bytes: usize,
    pub(super) segment_bytes: u64,
}

/// `delete.retention.ms` of every cleaning.
pub(super) const RETENTION_MS: i64 = 1000;

pub(super) struct Context<'a> {
    pub(super) index: &'a [AbortedTransaction],
    /// Bytes after which the cleaning is stopped.
    pub(super) bytes_left: usize,
}

impl RoundContext for Context<'_> {
    fn aborted_transactions(&self, start: i64, end: i64) -> Result<Vec<AbortedTransaction>, CompactionError> {
        let overlap = |entry: &&AbortedTransaction| entry.last_offset >= start && entry.first_offset < end;
        Ok(self.index.iter().filter(overlap).copied().collect())
    }

    fn progress(&mut self, bytes: usize) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(0);
        left.is_some()
    }
}

pub(super) fn seal(segments: &[(i64, Vec<u8>)], bound: i64) -> Vec<SealedSegment> {
    let disk = SimulatedDisk::new();
    disk.create_directory(Path::new("/log")).unwrap();
    let below = segments.partition_point(|(base, _)| *base < bound);
    let seal = |at: usize| {
        let (base_offset, bytes) = &segments[at];
        let path = Path::new("/log").join(format!("{base_offset:020}.log"));
        let file = disk.open(&path).unwrap();
        file.write_at(0, &mut [IoSlice::new(bytes)]).unwrap();
        let end_offset = segments.get(at + 1).map_or(bound, |(base, _)| *base);
        let open: OpenSegment = Arc::new(move || Ok(Arc::clone(&file)));
        SealedSegment { base_offset: *base_offset, end_offset, open, bytes: bytes.len() as u64, path }
    };
    (0..below).map(seal).collect()
}

impl History {
    pub(super) fn settings(&self, cleaning: Cleaning) -> RoundSettings {
        RoundSettings {
            now_ms: cleaning.now_ms,
            delete_retention_ms: RETENTION_MS,
            first_dirty_offset: cleaning.first_dirty_offset,
            bound: self.bound,
            dedupe_buffer_bytes: cleaning.dedupe_buffer_bytes,
            chunk_bytes: cleaning.chunk_bytes,
            decompressed_bytes_max: DECOMPRESSED_BYTES_MAX,
        }
    }

    /// One round over `segments`, whose cleaned ones are put in their place; answers the offset behind what it covers.
    pub(super) fn round(&mut self, segments: &mut Segments, cleaning: Cleaning) -> i64 {
        let sealed = seal(segments, self.bound);
        let before = self.index.clone();
        let mut context = Context { index: &before, bytes_left: usize::MAX };
        let mut cleaner =
            Cleaner::map_keys(self.settings(cleaning), &sealed, &self.last_records, &mut context).unwrap();
        let end = cleaner.end_offset();
        let covered = sealed.partition_point(|segment| segment.base_offset < end);
        let facts: Vec<_> = sealed[..covered].iter().map(facts).collect();
        let facts_end = sealed[..covered].last().map_or(0, |segment| segment.end_offset);
        let mut cleaned = Segments::new();
        // Entries of segments that were not cleaned stay where they are.
        self.index.retain(|entry| entry.last_offset >= facts_end);
        for group in group_segments(&facts, facts_end, cleaning.segment_bytes, u64::MAX) {
            let mut output = Vec::new();
            let base = sealed[group.start].base_offset;
            let retained = cleaner.clean_group(&sealed[group], &mut context, &mut |batch, header| {
                assert_eq!(BatchHeader::verify(batch).unwrap(), *header);
                output.extend_from_slice(batch);
                Ok(())
            });
            self.index.extend(retained.unwrap());
            cleaned.push((base, output));
        }
        segments.splice(..covered, cleaned);
        end
    }

    /// Rounds until everything below the bound is clean.
    pub(super) fn clean(&mut self, segments: &mut Segments, mut cleaning: Cleaning) {
        loop {
            let end = self.round(segments, cleaning);
            if end >= self.bound {
                return;
            }
            assert!(end > cleaning.first_dirty_offset, "every round gets further");
            cleaning.first_dirty_offset = end;
        }
    }
}

fn facts(segment: &SealedSegment) -> SegmentFacts {
    let (base_offset, bytes) = (segment.base_offset, segment.bytes);
    SegmentFacts {
        base_offset,
        bytes,
        offset_index_bytes: 0,
        time_index_bytes: 0,
        max_timestamp: 0,
        first_timestamp: 0,
    }
}

/// All batches of a log, in order.
pub(super) fn batches(segments: &Segments) -> Vec<(BatchHeader, Vec<Record>)> {
    let mut batches = Vec::new();
    for (_, bytes) in segments {
        let mut rest = Bytes::from(bytes.clone());
        while !rest.is_empty() {
            let (header, records) = read_batch(&rest).unwrap();
            rest = rest.slice(header.size()..);
            batches.push((header, records));
        }
    }
    batches
}

/// All records of a log but markers, in order.
pub(super) fn records(segments: &Segments) -> Vec<Record> {
    let data = batches(segments).into_iter().filter(|(header, _)| !header.is_control());
    data.flat_map(|(_, records)| records).collect()
}
