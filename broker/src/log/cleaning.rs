//! Compaction of a log in service: what [`super::compaction`] decides, done to its files.
//!
//! A round is planned with the log held, runs without it, and puts each group of segments in its place with the log
//! held for some renames. The order of those is told in [`super::compaction`].

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::sync::Arc;

use pillion_wire::records::{BatchHeader, DECOMPRESSED_BYTES_MAX, STAMPED_BYTES};

use super::compaction::CompactionError;
use super::compaction::batches::{OpenSegment, SealedSegment};
use super::compaction::cleaner::{Cleaner, CleanerStatistics, LastRecord, RoundContext, RoundSettings};
use super::compaction::plan::{Cleanable, CompactionConfig, LogFacts, SegmentFacts, group_segments};
use super::files::LogFiles;
use super::format::transaction_index::{self, AbortedTransaction};
use super::segment::Segment;
use super::swapping::CleanedGroup;
use super::{Log, LogConfig, LogView};
use crate::disk::FileKind;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 512 * 1024;

/// Whether a cleaning may go on; asked before each read.
pub(crate) type MayGoOn<'a> = &'a dyn Fn() -> bool;

/// A round that was planned.
pub(crate) struct Round {
    files: LogFiles,
    config: Arc<LogConfig>,
    /// The sealed segments below the bound.
    segments: Vec<Segment>,
    /// Segments behind it with aborted transactions: of one that was ended there, data may be below the bound.
    aborted_behind: Vec<Segment>,
    facts: Vec<SegmentFacts>,
    cleanable: Cleanable,
    last_records: HashMap<i64, LastRecord>,
    log_start_offset: i64,
    now_ms: i64,
}

impl Log {
    /// What can be cleaned of the log now, and whether it is time to. Nothing at or above `high_watermark` or the
    /// recovery point is.
    pub(crate) fn cleanable(&self, high_watermark: i64, now_ms: i64) -> Option<Cleanable> {
        if !self.config.compact || self.segments.len() < 2 {
            return None;
        }
        let facts = self.segment_facts();
        let cleanable =
            Cleanable::of(&self.log_facts(&facts, high_watermark), &compaction_config(&self.config), now_ms);
        cleanable.is_due(&compaction_config(&self.config)).then_some(cleanable)
    }

    /// Plans a round; `None` when nothing is due. Only what is below the recovery point that stands in the checkpoint
    /// file is cleaned: a start must find no gaps where it does not trust, and of producers only the last batches of
    /// all stay, which a crash may take; what the next start knows of them is in a snapshot at or before that point.
    pub(crate) fn begin_round(&self, high_watermark: i64, now_ms: i64) -> Option<Round> {
        let cleanable = self.cleanable(high_watermark.min(self.recovery_point_written), now_ms)?;
        let count = self.segments.partition_point(|segment| segment.base_offset < cleanable.bound);
        let producers = self.producers.snapshot().into_iter().map(|entry| {
            let last_data_offset = Some(entry.last_offset).filter(|offset| *offset >= 0);
            (entry.producer_id, LastRecord { last_data_offset, producer_epoch: entry.producer_epoch })
        });
        Some(Round {
            files: self.files.clone(),
            config: Arc::clone(&self.config),
            segments: self.segments[..count].to_vec(),
            aborted_behind: self.segments[count..].iter().filter(|segment| segment.aborted > 0).cloned().collect(),
            facts: self.segment_facts()[..count].to_vec(),
            cleanable,
            last_records: producers.collect(),
            log_start_offset: self.log_start_offset,
            now_ms,
        })
    }

    /// Everything below `offset` was cleaned.
    pub(crate) fn cleaned_to(&mut self, offset: i64) {
        self.cleaned_to = Some(offset);
    }

    /// Where the last cleaning ended, for the checkpoint file.
    pub(crate) fn cleaning_checkpoint(&self) -> Option<i64> {
        self.cleaned_to
    }

    fn segment_facts(&self) -> Vec<SegmentFacts> {
        // Finding a first batch's time may wait for the disk, with the log held.
        let is_lag_limited = self.config.max_compaction_lag_ms < i64::MAX;
        let facts = |segment: &Segment| SegmentFacts {
            base_offset: segment.base_offset,
            bytes: segment.size,
            offset_index_bytes: u64::from(segment.offsets.len()) * 8,
            time_index_bytes: u64::from(segment.times.len()) * 12,
            max_timestamp: segment.max_timestamp,
            first_timestamp: if is_lag_limited { segment.first_timestamp(&self.files) } else { -1 },
        };
        self.segments.iter().map(facts).collect()
    }

    fn log_facts<'a>(&self, segments: &'a [SegmentFacts], high_watermark: i64) -> LogFacts<'a> {
        let high_watermark = high_watermark.min(self.recovery_point);
        LogFacts {
            segments,
            log_start_offset: self.log_start_offset,
            log_end_offset: self.next_offset,
            high_watermark,
            // Of a transaction whose marker a crash may take nobody can say what becomes of its records.
            last_stable_offset: self.producers.first_undurable_offset().unwrap_or(high_watermark),
            cleaned_to: self.cleaned_to,
        }
    }
}

impl Round {
    /// Runs the round: gives `swap_in` every cleaned group, in order. Answers the offset behind what was cleaned. The
    /// log is not held. Blocks.
    ///
    /// # Errors
    /// [`CompactionError`]; groups that were swapped in stay.
    pub(crate) fn run(
        &self,
        dedupe_buffer_bytes: usize,
        may_go_on: MayGoOn<'_>,
        swap_in: &mut dyn FnMut(&CleanedGroup) -> Result<bool, CompactionError>,
    ) -> Result<(i64, CleanerStatistics), CompactionError> {
        let sealed = self.sealed();
        let settings = RoundSettings {
            now_ms: self.now_ms,
            delete_retention_ms: self.config.delete_retention_ms,
            first_dirty_offset: self.cleanable.first_dirty_offset,
            bound: self.cleanable.bound,
            dedupe_buffer_bytes,
            chunk_bytes: CHUNK_BYTES,
            decompressed_bytes_max: DECOMPRESSED_BYTES_MAX,
        };
        let mut context = Context { round: self, may_go_on };
        let mut cleaner = Cleaner::map_keys(settings, &sealed, &self.last_records, &mut context)?;
        let end = cleaner.end_offset();
        let count = sealed.partition_point(|segment| segment.base_offset < end);
        let index_bytes = u64::from(self.config.segment_index_bytes);
        let bound = sealed.get(count).map_or(self.cleanable.bound, |next| next.base_offset);
        let groups = group_segments(&self.facts[..count], bound, self.config.segment_bytes, index_bytes);
        for group in groups {
            let cleaned = self.write_group(&mut cleaner, &sealed[group], &mut context)?;
            if !swap_in(&cleaned)? {
                cleaned.throw_away().map_err(|source| CompactionError::Write { source })?;
                return Err(CompactionError::Stopped);
            }
        }
        Ok((end, cleaner.statistics()))
    }

    fn sealed(&self) -> Vec<SealedSegment> {
        let ends = self.segments.iter().skip(1).map(|next| next.base_offset).chain([self.cleanable.bound]);
        let sealed = self.segments.iter().zip(ends).map(|(segment, end_offset)| {
            let (files, base_offset) = (self.files.clone(), segment.base_offset);
            let path = files.path(base_offset, FileKind::Log);
            let open: OpenSegment = Arc::new(move || files.open_existing(base_offset, FileKind::Log));
            SealedSegment { base_offset, end_offset, open, bytes: segment.size, path }
        });
        sealed.collect()
    }

    /// Writes one cleaned segment and syncs it.
    fn write_group(
        &self,
        cleaner: &mut Cleaner<'_>,
        group: &[SealedSegment],
        context: &mut Context<'_>,
    ) -> Result<CleanedGroup, CompactionError> {
        let base = group[0].base_offset;
        let files = self.files.cleaned();
        let failed = |source| CompactionError::Write { source };
        for kind in FileKind::ALL {
            files.disk().remove(&files.path(base, kind)).map_err(failed)?;
        }
        let config = LogConfig { grow_ahead_bytes: 0, ..*self.config };
        let mut segment = Segment::empty(base, self.now_ms);
        let file = files.open(base, FileKind::Log).map_err(failed)?;
        let mut append = |batch: &[u8], header: &BatchHeader| {
            let (front, rest) = batch.split_at(STAMPED_BYTES);
            if segment.append(&*file, header, front, rest, &config)? {
                segment.offsets.flush(&files, base)?;
                segment.times.flush(&files, base)?;
            }
            Ok(())
        };
        let aborted = cleaner.clean_group(group, context, &mut append)?;
        segment.complete(&files).map_err(failed)?;
        segment.aborted = write_aborted(&files, base, &aborted).map_err(failed)?;
        for kind in FileKind::ALL {
            match files.open_existing(base, kind) {
                Ok(file) => file.sync().map_err(failed)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
        files.disk().sync_directory(files.directory()).map_err(failed)?;
        files.forget(base);
        segment.mark_sealed();
        Ok(CleanedGroup { segment, files, replaced: group.iter().map(|segment| segment.base_offset).collect() })
    }

    fn unreadable(&self, source: io::Error) -> CompactionError {
        CompactionError::Read { path: self.files.directory().to_owned(), source }
    }
}

/// What a round asks of its log.
struct Context<'a> {
    round: &'a Round,
    may_go_on: MayGoOn<'a>,
}

impl RoundContext for Context<'_> {
    fn aborted_transactions(&self, start: i64, end: i64) -> Result<Vec<AbortedTransaction>, CompactionError> {
        let from = self.round.segments.partition_point(|segment| segment.base_offset <= start).saturating_sub(1);
        let segments = self.round.segments[from..].iter().filter(|segment| segment.aborted > 0);
        let segments = segments.chain(&self.round.aborted_behind).cloned().collect();
        let view = LogView::of(self.round.files.clone(), segments, 0);
        view.aborted(start.max(self.round.log_start_offset), end).map_err(|error| {
            let source = io::Error::other(error);
            self.round.unreadable(source)
        })
    }

    fn progress(&mut self, _bytes: usize) -> bool {
        (self.may_go_on)()
    }
}

fn compaction_config(config: &LogConfig) -> CompactionConfig {
    CompactionConfig {
        min_cleanable_dirty_ratio: config.min_cleanable_dirty_ratio,
        min_compaction_lag_ms: config.min_compaction_lag_ms,
        max_compaction_lag_ms: config.max_compaction_lag_ms,
    }
}

/// Writes a cleaned segment's transaction index; answers its entries.
fn write_aborted(files: &LogFiles, base: i64, aborted: &[AbortedTransaction]) -> io::Result<u32> {
    if aborted.is_empty() {
        return Ok(0);
    }
    let mut bytes = Vec::with_capacity(aborted.len() * transaction_index::ENTRY_BYTES);
    aborted.iter().for_each(|entry| bytes.extend_from_slice(&entry.encode()));
    files.open(base, FileKind::TransactionIndex)?.write_at(0, &mut [IoSlice::new(&bytes)])?;
    Ok(aborted.len() as u32)
}
