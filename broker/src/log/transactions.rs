//! What the log knows of transactions: up to where they have ended, and which data was aborted.
//!
//! A segment's `.txnindex` tells of the transactions whose abort marker is in it.

use std::io::{self, IoSlice};

use super::dirty::FileName;
use super::files::LogFiles;
use super::format::transaction_index::{self, AbortedTransaction};
use super::producers::CompletedTransaction;
use super::read::ReadFrom;
use super::segment::Segment;
use super::{Log, LogError, LogView};
use crate::disk::FileKind;

impl Log {
    /// The offset of the first record whose transaction has not ended, or whose end is not below the high watermark.
    pub(crate) fn first_unstable_offset(&self) -> Option<i64> {
        self.producers.first_unstable_offset()
    }

    /// The high watermark moved.
    pub(crate) fn high_watermark_moved(&mut self, high_watermark: i64) {
        self.producers.high_watermark_moved(high_watermark);
    }

    /// Writes down an aborted transaction whose marker was just appended.
    pub(super) fn note_completed(&mut self, completed: &CompletedTransaction) -> io::Result<()> {
        if !completed.aborted {
            return Ok(());
        }
        // In recovery the log goes on behind the marker.
        let last_stable_offset = self.producers.last_stable_offset_after(completed, completed.last_offset + 1);
        let entry = AbortedTransaction {
            producer_id: completed.producer_id,
            first_offset: completed.first_offset,
            last_offset: completed.last_offset,
            last_stable_offset,
        };
        self.add_aborted(completed.last_offset, entry)
    }

    /// Adds an entry to the transaction index of the segment that holds `marker_offset`.
    pub(super) fn add_aborted(&mut self, marker_offset: i64, entry: AbortedTransaction) -> io::Result<()> {
        let place = self.segment_of(marker_offset);
        let Some(segment) = self.segments.get_mut(place) else { return Ok(()) };
        let (base, at) = (segment.base_offset, u64::from(segment.aborted) * transaction_index::ENTRY_BYTES as u64);
        let file = self.files.open(base, FileKind::TransactionIndex)?;
        file.write_at(at, &mut [IoSlice::new(&entry.encode())])?;
        segment.aborted += 1;
        let is_new = segment.aborted == 1;
        self.mark_dirty(FileName::Segment(base, FileKind::TransactionIndex), file, is_new);
        Ok(())
    }

    /// Whether there are aborted transactions that ended in the segment of `offset`, or behind it.
    pub(crate) fn tells_of_aborted(&self, offset: i64) -> bool {
        self.segments[self.segment_of(offset)..].iter().any(|segment| segment.aborted > 0)
    }

    /// The segments that tell of aborted transactions with records from `offset` on, to look in without holding the
    /// log: the one that holds it, and later ones.
    pub(crate) fn view_aborted(&self, offset: i64) -> LogView {
        let segments = &self.segments[self.segment_of(offset)..];
        let is_told = |(place, segment): &(usize, &Segment)| *place == 0 || segment.aborted > 0;
        let segments = segments.iter().enumerate().filter(is_told).map(|(_, segment)| segment.clone()).collect();
        LogView::of(self.files.clone(), segments, self.generation)
    }
}

impl LogView {
    /// Whether there is any aborted transaction in these segments.
    pub(crate) fn tells_of_aborted(&self) -> bool {
        self.segments.iter().any(|segment| segment.aborted > 0)
    }

    /// An offset behind every record in the `bytes` bytes from the batch that holds `offset` on, as near as the index
    /// knows; `end` where it does not. May wait for the disk.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub(crate) fn offset_behind(&self, offset: i64, bytes: usize, end: i64) -> Result<i64, LogError> {
        let Some(segment) = self.segments.first() else { return Ok(end) };
        let Some((position, _)) = segment.find(&self.files, offset, ReadFrom::Disk)? else { return Ok(end) };
        let behind = segment.offset_behind(&self.files, position + bytes as u64)?;
        Ok(behind.map_or(end, |behind| end.min(behind)))
    }

    /// The aborted transactions with records in [`from`, `end`), in the order of their markers. May wait for the disk.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Damaged`].
    pub(crate) fn aborted(&self, from: i64, end: i64) -> Result<Vec<AbortedTransaction>, LogError> {
        let mut found = Vec::new();
        for segment in &self.segments {
            let entries = read_aborted(&self.files, segment)?;
            let done = entries.iter().any(|entry| entry.last_stable_offset >= end);
            found.extend(entries.into_iter().filter(|entry| entry.last_offset >= from && entry.first_offset < end));
            if done {
                break;
            }
        }
        Ok(found)
    }
}

/// The entries of a segment's transaction index, up to the first that is none.
pub(super) fn read_aborted(files: &LogFiles, segment: &Segment) -> Result<Vec<AbortedTransaction>, LogError> {
    let failed = |source| LogError::Io { path: files.path(segment.base_offset, FileKind::TransactionIndex), source };
    if segment.aborted == 0 {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; segment.aborted as usize * transaction_index::ENTRY_BYTES];
    let file = files.open_existing(segment.base_offset, FileKind::TransactionIndex).map_err(failed)?;
    let read = file.read_at(0, &mut bytes).map_err(failed)?;
    let (entries, _) = bytes[..read].as_chunks::<{ transaction_index::ENTRY_BYTES }>();
    Ok(entries.iter().map_while(|entry| AbortedTransaction::decode(*entry).ok()).collect())
}
