//! Taking segments in, one after the other.

use std::io;

use super::super::Log;
use super::super::dirty::FileName;
use super::super::format::offset_index::OffsetIndexEntry;
use super::super::format::time_index::TimeIndexEntry;
use super::super::format::transaction_index;
use super::super::index_file::IndexFile;
use super::super::scan::BatchScanner;
use super::super::segment::Segment;
use super::damage::{damaged, end_of_batches, is_zero};
use crate::disk::FileKind;

/// What of a log is believed.
pub(super) struct Trust {
    /// The last stop was clean.
    pub(super) everything: bool,
    /// Everything below this offset is on disk with its indexes.
    pub(super) below: i64,
    /// Nothing from this offset on is the log's.
    pub(super) end: i64,
    /// Below this offset compaction may have left some out.
    pub(super) may_miss_below: i64,
}

impl Log {
    pub(super) fn load_segments(&mut self, bases: &[i64], trust: &Trust, now_ms: i64) -> io::Result<()> {
        // Where empty segments begin behind a hole: how many precede them, and where those end.
        let mut hole = None;
        for (place, base) in bases.iter().copied().enumerate() {
            let next = bases.get(place + 1).copied();
            // Where the recovery point is the next segment's begin, it may be older than the roll: this one's end must
            // be found.
            let is_trusted = trust.everything || next.is_some_and(|next| next < trust.below);
            match next {
                Some(next) if is_trusted => self.load_sealed(base, next, trust.everything, now_ms)?,
                _ => {
                    let (before, count) = (self.next_offset, self.segments.len());
                    let is_whole = self.load_scanned(base, trust, now_ms)?;
                    let end = self.next_offset;
                    hole = if end > base { None } else { hole.or((base > before).then_some((count, before))) };
                    let goes_on = next.is_none_or(|next| next == end || is_whole && Self::follows(next, end, trust));
                    if !goes_on || self.next_offset >= trust.end {
                        // What is missing below the recovery point is told of: nothing is touched then.
                        if self.next_offset >= trust.below {
                            self.quarantine(&bases[place + 1..])?;
                        }
                        break;
                    }
                    if next.is_some() {
                        self.seal_last()?;
                    }
                }
            }
        }
        match hole.filter(|(_, end)| !trust.everything && *end >= trust.below) {
            Some((count, end)) => self.drop_behind(count, end),
            None => Ok(()),
        }
    }

    /// Takes out the segments behind the first `count`: there is no batch in them, and they do not begin at `end`.
    fn drop_behind(&mut self, count: usize, end: i64) -> io::Result<()> {
        let bases: Vec<_> = self.segments.drain(count..).map(|segment| segment.base_offset).collect();
        bases.iter().for_each(|base| self.forget_dirty(*base));
        self.next_offset = end;
        self.quarantine(&bases)
    }

    /// Takes a segment in that was closed and synced: its file and its indexes are as they should be, or the indexes
    /// are made again, unless the file is damaged: what is behind the damage was acknowledged.
    fn load_sealed(&mut self, base: i64, next: i64, is_clean: bool, now_ms: i64) -> io::Result<()> {
        let length = self.files.length(base, FileKind::Log)?.unwrap_or(0);
        let mut segment = Segment::empty(base, now_ms);
        (segment.size, segment.grown) = (length, length);
        let offsets = IndexFile::load(&self.files, base)?;
        let times = IndexFile::<TimeIndexEntry>::load(&self.files, base)?;
        // The first batch has no entry: zeroes at the end are what an index was grown ahead by.
        let fits = |entry: OffsetIndexEntry| {
            i64::from(entry.relative_offset) < next - base && (1..length).contains(&u64::from(entry.position))
        };
        let is_grown = |times: &IndexFile<TimeIndexEntry>| {
            times.len() > 1 && times.last().is_some_and(|last| (last.timestamp, last.relative_offset) == (0, 0))
        };
        match (offsets, times) {
            (Some(offsets), Some(times)) if offsets.last().is_none_or(fits) && !is_grown(&times) => {
                if let Some(last) = times.last() {
                    segment.max_timestamp = last.timestamp;
                    segment.max_timestamp_offset = base + i64::from(last.relative_offset);
                }
                if !is_clean {
                    // Where a sync failed before the crash, a cut of the zeroes behind the last batch may have been lost.
                    let indexed = offsets.last().map_or(0, |last| u64::from(last.position));
                    let file = segment.file(&self.files)?;
                    match end_of_batches(&file, base, indexed, length) {
                        Ok(end) => segment.size = end,
                        // Either may be wrong, the index or the segment: making the index again tells which.
                        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                            return self.index_again(base, next, length, now_ms);
                        }
                        Err(error) => return Err(error),
                    }
                    segment.trim(&self.files)?;
                }
                (segment.offsets, segment.times) = (offsets, times);
                segment.aborted = self.aborted_entries(base)?;
                segment.mark_sealed();
                self.segments.push(segment);
            }
            _ => return self.index_again(base, next, length, now_ms),
        }
        self.next_offset = next;
        Ok(())
    }

    /// Takes a closed segment in by its batches, and makes its indexes again.
    fn index_again(&mut self, base: i64, next: i64, length: u64, now_ms: i64) -> io::Result<()> {
        tracing::info!(directory = %self.files.directory().display(), segment = base, "making a segment's indexes again");
        let everything = Trust { everything: true, below: i64::MAX, end: i64::MAX, may_miss_below: i64::MAX };
        self.next_offset = base;
        end_of_batches(&self.files.open_existing(base, FileKind::Log)?, base, 0, length)?;
        self.scan_into(self.without_indexes(base, now_ms)?, 0, &everything)?;
        self.seal_last()?;
        self.next_offset = next;
        Ok(())
    }

    /// Takes a segment in whose end must be found; false when bytes behind its end were cut off.
    fn load_scanned(&mut self, base: i64, trust: &Trust, now_ms: i64) -> io::Result<bool> {
        let below = if trust.everything { i64::MAX } else { trust.below };
        let (segment, start) = match self.resume(base, below, now_ms)? {
            Some(resumed) => resumed,
            None => (self.without_indexes(base, now_ms)?, 0),
        };
        self.next_offset = self.next_offset.max(base);
        self.scan_into(segment, start, trust)
    }

    /// The segment up to its last index entry below `below`, and that entry's position; `None` when the indexes are
    /// not to be used.
    fn resume(&mut self, base: i64, below: i64, now_ms: i64) -> io::Result<Option<(Segment, u64)>> {
        let files = &self.files;
        let length = files.length(base, FileKind::Log)?.unwrap_or(0);
        let (Some(mut offsets), Some(mut times)) =
            (IndexFile::<OffsetIndexEntry>::load_begun(files, base)?, IndexFile::load_begun(files, base)?)
        else {
            return Ok(None);
        };
        let follows = |previous: Option<OffsetIndexEntry>, entry: OffsetIndexEntry| {
            let (offset, position) = previous.map_or((0, 0), |previous| (previous.relative_offset, previous.position));
            entry.relative_offset > offset && entry.position > position && u64::from(entry.position) < length
        };
        let relative = below.saturating_sub(base);
        let kept = offsets.sound_entries(files, base, |previous, entry| {
            follows(previous, entry) && i64::from(entry.relative_offset) < relative
        })?;
        offsets.truncate(files, base, kept)?;
        let Some(last) = offsets.last() else {
            // A small segment, as a clean stop left it: ten thousand of them are not written to at every start.
            let is_complete = below == i64::MAX && u64::from(times.len()) <= length.min(1);
            let mut segment = Segment::empty(base, now_ms);
            segment.resume(offsets, times, 0, -1);
            return Ok(is_complete.then_some((segment, 0)));
        };
        let kept = times.sound_entries(files, base, |previous: Option<TimeIndexEntry>, entry| {
            previous.is_none_or(|previous| previous.timestamp < entry.timestamp)
                && i64::from(entry.relative_offset) < relative
        })?;
        times.truncate(files, base, kept)?;
        let mut segment = Segment::empty(base, now_ms);
        let mut scanner = BatchScanner::new(segment.file(files)?, u64::from(last.position), length);
        let stands = scanner
            .next_header()?
            .is_some_and(|(_, header)| header.last_offset() - base == i64::from(last.relative_offset));
        if !stands {
            return Ok(None);
        }
        let first = BatchScanner::new(segment.file(files)?, 0, length).next_header()?;
        let first_timestamp = first.map_or(-1, |(_, header)| header.max_timestamp);
        segment.resume(offsets, times, u64::from(last.position), first_timestamp);
        Ok(Some((segment, u64::from(last.position))))
    }

    /// A segment whose indexes are made anew.
    fn without_indexes(&self, base: i64, now_ms: i64) -> io::Result<Segment> {
        let mut segment = Segment::empty(base, now_ms);
        segment.offsets.clear(&self.files, base)?;
        segment.times.clear(&self.files, base)?;
        Ok(segment)
    }

    /// Takes the batches from `start` on in, as far as they are whole and the log's; false when bytes behind them
    /// were cut off.
    fn scan_into(&mut self, mut segment: Segment, start: u64, trust: &Trust) -> io::Result<bool> {
        let base = segment.base_offset;
        let file = segment.file(&self.files)?;
        let length = file.length()?;
        // Resuming trusts that both indexes are on disk below the recovery point: there none of them grows alone, and
        // made anew the offset index goes first and comes last.
        let indexed_to = match start {
            0 => i64::MIN,
            _ if trust.everything => i64::MAX,
            _ => trust.below,
        };
        segment.grown = length;
        let mut least = base;
        let mut scanner = BatchScanner::new(file, start, length);
        loop {
            let at = scanner.position();
            let next = if trust.everything { scanner.next_header()? } else { scanner.next_verified()? };
            let Some((_, header)) = next.filter(|(_, header)| {
                let is_first = at == start && start > 0;
                (is_first || Self::follows(header.base_offset, least, trust)) && header.base_offset < trust.end
            }) else {
                segment.size = at;
                break;
            };
            let is_indexed = header.base_offset < indexed_to;
            if segment.note(&header, if is_indexed { u32::MAX } else { self.config.index_interval_bytes }) {
                segment.times.flush(&self.files, base)?;
                segment.offsets.flush(&self.files, base)?;
            }
            self.epochs.note(header.leader_epoch, header.base_offset);
            least = header.next_offset();
            self.next_offset = least;
        }
        let cut = length - segment.size;
        if cut > 0 {
            // Behind damage in what was durable there is more of that: nothing but zeroes is cut there.
            let is_durable = trust.everything || self.next_offset < trust.below;
            if is_durable && !is_zero(&segment.file(&self.files)?, segment.size, length)? {
                return Err(damaged(base, segment.size));
            }
            tracing::info!(
                directory = %self.files.directory().display(), log_end_offset = self.next_offset, dropped_bytes = cut,
                "cut the log behind its last whole batch"
            );
            segment.trim(&self.files)?;
        }
        if start == 0 && base < trust.below {
            segment.times.flush_durably(&self.files, base)?;
            segment.offsets.flush_durably(&self.files, base)?;
        }
        if !trust.everything {
            self.bytes_unchecked += segment.size - start;
        }
        segment.aborted = self.aborted_entries(base)?;
        self.segments.push(segment);
        Ok(cut == 0)
    }

    /// Whether a batch at `offset` continues a log that ends at `end`.
    fn follows(offset: i64, end: i64, trust: &Trust) -> bool {
        offset == end || offset > end && end < trust.may_miss_below
    }

    fn seal_last(&mut self) -> io::Result<()> {
        let Some(segment) = self.segments.last_mut() else { return Ok(()) };
        segment.complete(&self.files)?;
        segment.mark_sealed();
        let base = segment.base_offset;
        for kind in [FileKind::OffsetIndex, FileKind::TimeIndex] {
            let file = self.files.open_existing(base, kind)?;
            self.mark_dirty(FileName::Segment(base, kind), file, true);
        }
        Ok(())
    }

    /// Whole entries in a segment's transaction index.
    fn aborted_entries(&self, base: i64) -> io::Result<u32> {
        let length = self.files.length(base, FileKind::TransactionIndex)?.unwrap_or(0);
        Ok(u32::try_from(length / transaction_index::ENTRY_BYTES as u64).unwrap_or(u32::MAX))
    }
}
