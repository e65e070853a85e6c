//! Appending a batch: its place is stamped into it, the rest is written as it came.

use pillion_wire::records::{BatchHeader, EndTransactionMarker, STAMPED_BYTES};

use super::dirty::FileName;
use super::segment::Segment;
use super::{Log, LogError};
use crate::disk::FileKind;

/// Where a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    /// Offset of its first record.
    pub(crate) base_offset: i64,
    /// Offset behind its last record.
    pub(crate) next_offset: i64,
}

impl Log {
    /// Appends a valid batch of records, whose header is `header`, with the next offset and `leader_epoch` stamped
    /// into it.
    ///
    /// # Errors
    /// [`LogError::Io`]; the log is then as it was before.
    pub(crate) fn append(
        &mut self,
        batch: &[u8],
        header: BatchHeader,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<Appended, LogError> {
        let header = self.write(batch, header, leader_epoch, now_ms)?;
        self.producers.note(&header);
        Ok(Appended { base_offset: header.base_offset, next_offset: self.next_offset })
    }

    /// Appends a control batch that ends a transaction.
    ///
    /// # Errors
    /// [`LogError::Io`]; the batch may have been appended, and the log must be opened anew.
    pub(crate) fn append_marker(
        &mut self,
        batch: &[u8],
        header: BatchHeader,
        marker: &EndTransactionMarker,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<Appended, LogError> {
        let header = self.write(batch, header, leader_epoch, now_ms)?;
        if let Some(completed) = self.producers.note_marker(&header, marker) {
            self.note_completed(&completed).map_err(|source| self.failed(source))?;
        }
        Ok(Appended { base_offset: header.base_offset, next_offset: self.next_offset })
    }

    /// Writes a batch; answers its header as it stands in the log.
    fn write(
        &mut self,
        batch: &[u8],
        mut header: BatchHeader,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<BatchHeader, LogError> {
        let base_offset = self.next_offset;
        let front = header.stamp(base_offset, leader_epoch);
        (header.base_offset, header.leader_epoch) = (base_offset, leader_epoch);
        self.make_writable(&header, now_ms)?;
        let files = self.files.clone();
        let failed = |source| LogError::Io { path: files.directory().to_owned(), source };
        let Some(segment) = self.segments.last_mut() else { return Err(failed(std::io::ErrorKind::NotFound.into())) };
        let file = segment.file(&files).map_err(failed)?;
        let rest = &batch[STAMPED_BYTES..];
        let should_flush = segment.append(&*file, &header, &front, rest, &self.config).map_err(failed)?;
        let segment_base = segment.base_offset;
        self.mark_dirty(FileName::Segment(segment_base, FileKind::Log), file, false);
        if should_flush {
            // The indexes can be made again from the log: that they cannot be written is not this batch's fault.
            let _ = self.flush_indexes();
        }
        self.epochs.note(leader_epoch, base_offset);
        self.next_offset = header.next_offset();
        self.bytes_unchecked += header.size() as u64;
        Ok(header)
    }

    /// Sees to it that the last segment takes the batch: makes the first one, or rolls.
    fn make_writable(&mut self, header: &BatchHeader, now_ms: i64) -> Result<(), LogError> {
        let jitter_ms = self.config.segment_jitter_ms / 1024 * self.files.spread();
        match self.segments.last() {
            Some(segment) if !segment.must_roll(header, &self.config, jitter_ms, now_ms) => Ok(()),
            Some(_) => self.roll(now_ms),
            None => self.begin_first_segment(now_ms),
        }
    }

    /// Makes the directory and the first segment, whose name tells from then on where the log begins.
    pub(super) fn begin_first_segment(&mut self, now_ms: i64) -> Result<(), LogError> {
        let created = self.files.disk().create_directory(self.files.directory());
        created.and_then(|()| self.write_metadata()).map_err(|source| self.failed(source))?;
        self.begin_segment(now_ms)
    }

    /// Closes the active segment and begins the next.
    ///
    /// # Errors
    /// [`LogError::Io`]; the active segment is still written to then.
    pub(crate) fn roll(&mut self, now_ms: i64) -> Result<(), LogError> {
        let files = self.files.clone();
        let failed = |source| LogError::Io { path: files.directory().to_owned(), source };
        let Some(segment) = self.segments.last_mut() else { return Ok(()) };
        let base = segment.base_offset;
        segment.complete(&files).map_err(failed)?;
        for kind in [FileKind::Log, FileKind::OffsetIndex, FileKind::TimeIndex] {
            let file = files.open_existing(base, kind).map_err(failed)?;
            self.mark_dirty(FileName::Segment(base, kind), file, kind != FileKind::Log);
        }
        self.write_snapshot().map_err(failed)?;
        self.begin_segment(now_ms)?;
        if let [.., sealed, _] = &mut self.segments[..] {
            sealed.mark_sealed();
        }
        // Once all that is synced, a start need not look behind the roll.
        self.recovery_point_pending = Some(self.next_offset);
        self.bytes_unchecked = 0;
        Ok(())
    }

    fn begin_segment(&mut self, now_ms: i64) -> Result<(), LogError> {
        let base = self.next_offset;
        let file = self.files.open(base, FileKind::Log).map_err(|source| self.failed(source))?;
        self.mark_dirty(FileName::Segment(base, FileKind::Log), file, true);
        self.segments.push(Segment::empty(base, now_ms));
        Ok(())
    }

    /// Writes index entries that are only in memory.
    pub(super) fn flush_indexes(&mut self) -> std::io::Result<()> {
        let files = self.files.clone();
        let Some(segment) = self.segments.last_mut() else { return Ok(()) };
        let base = segment.base_offset;
        let (is_new_index, is_new_times) = segment.indexes_are_new();
        // What one of them wrote needs a sync, whatever becomes of the other.
        let offsets = segment.offsets.flush(&files, base);
        let times = segment.times.flush(&files, base);
        for (written, kind, is_new) in
            [(&offsets, FileKind::OffsetIndex, is_new_index), (&times, FileKind::TimeIndex, is_new_times)]
        {
            if matches!(written, Ok(true)) {
                let file = files.open_existing(base, kind)?;
                self.mark_dirty(FileName::Segment(base, kind), file, is_new);
            }
        }
        offsets.and(times).map(|_| ())
    }
}
