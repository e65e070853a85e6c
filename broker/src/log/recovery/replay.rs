//! What is known of producers, transactions and leader epochs, from what was written down and the batches since.

use super::super::checkpoint::LEADER_EPOCHS;
use super::super::dirty::FileName;
use super::super::epochs::LeaderEpochs;
use super::super::format::producer_snapshot::{self, ProducerSnapshotEntry};
use super::super::format::{leader_epoch_checkpoint, names, transaction_index};
use super::super::read::ReadFrom;
use super::super::scan::{BatchScanner, read_whole};
use super::super::transactions::read_aborted;
use super::super::{AbortedTransaction, Log, LogError, ProducerStates};
use super::directory::Found;
use super::load::Trust;
use crate::disk::FileKind;
use pillion_wire::records::{BatchHeader, read_marker};

/// The largest file of either kind that is read: a hundred thousand producers.
const FILE_BYTES_MAX: usize = 16 << 20;

/// Bytes before a snapshot that are looked through for batches it does not keep.
const RECALLED_BYTES: u64 = 256 * 1024;

impl Log {
    pub(super) fn replay(&mut self, found: &Found, trust: &Trust) -> Result<(), LogError> {
        let first = self.segments.first().map_or(self.next_offset, |segment| segment.base_offset);
        let epochs_known = self.load_epochs(found).map_err(|source| self.failed(source))?;
        let aborted_from = if trust.everything { i64::MAX } else { trust.below };
        if !trust.everything {
            self.trim_aborted(trust.below)?;
        }
        let (snapshot, producers) = self.load_snapshot(found, aborted_from).map_err(|source| self.failed(source))?;
        self.snapshot_offset = snapshot.unwrap_or(-1);
        self.remove_other_snapshots(&found.snapshots).map_err(|source| self.failed(source))?;
        self.producers = ProducerStates::restore(producers);
        let producers_from = snapshot.unwrap_or(first);
        self.recall(producers_from)?;
        let from = if epochs_known { producers_from } else { first };
        if from < self.next_offset {
            self.walk(from, producers_from, aborted_from)?;
        }
        self.epochs.reach_back_to(self.log_start_offset);
        self.producers.truncate(self.log_start_offset);
        self.producers.high_watermark_moved(self.next_offset);
        self.producers.durable_end_moved(self.next_offset);
        Ok(())
    }

    /// Takes in the leader epochs that were written down, before those found while segments were scanned; false when
    /// none are to be had.
    fn load_epochs(&mut self, found: &Found) -> std::io::Result<bool> {
        let scanned = std::mem::take(&mut self.epochs);
        let content = match found.has_epochs {
            true => self.files.disk().read_small(&self.files.path_of(LEADER_EPOCHS), FILE_BYTES_MAX)?,
            false => None,
        };
        let text = content.and_then(|content| String::from_utf8(content).ok());
        let starts = text.and_then(|text| leader_epoch_checkpoint::decode(&text).ok());
        let saved = starts.and_then(|starts| LeaderEpochs::from_checkpoint(starts, self.next_offset));
        // The log's start may have been moved when they were written down, and not durably.
        let reaches_back = |saved: &LeaderEpochs| saved.at(self.log_start_offset) >= 0;
        let is_known = self.segments.is_empty() || saved.as_ref().is_some_and(reaches_back);
        if is_known {
            self.epochs = saved.unwrap_or_default();
            self.epochs.extend(&scanned);
        }
        Ok(is_known)
    }

    /// Cuts transaction indexes to the transactions that ended below `below`; the others are found again.
    fn trim_aborted(&mut self, below: i64) -> Result<(), LogError> {
        for place in self.segment_of(below)..self.segments.len() {
            let segment = &self.segments[place];
            let base = segment.base_offset;
            let entries = read_aborted(&self.files, segment)?;
            // A crash may leave zeroes where entries were to be.
            let is_whole = |entry: &&AbortedTransaction| {
                (base..below).contains(&entry.last_offset) && entry.first_offset < entry.last_offset
            };
            let kept = entries.iter().take_while(is_whole).count();
            let length = (kept * transaction_index::ENTRY_BYTES) as u64;
            let failed = |source| LogError::Io { path: self.files.directory().to_owned(), source };
            let exists = self.files.length(base, FileKind::TransactionIndex).map_err(failed)?;
            if exists.is_some_and(|exists| exists != length) {
                let file = self.files.open(base, FileKind::TransactionIndex).map_err(failed)?;
                file.truncate(length).map_err(failed)?;
                self.mark_dirty(FileName::Segment(base, FileKind::TransactionIndex), file, false);
            }
            self.segments[place].aborted = kept as u32;
        }
        Ok(())
    }

    /// The newest snapshot at or before `at` that is whole. Those behind it go: they may tell of batches that a crash
    /// took, or of producers that are forgotten from now on. Those before the log's first segment go too.
    fn load_snapshot(&self, found: &Found, at: i64) -> std::io::Result<(Option<i64>, Vec<ProducerSnapshotEntry>)> {
        let first = self.segments.first().map_or(self.next_offset, |segment| segment.base_offset);
        for offset in found.snapshots.iter().rev().copied() {
            let path = self.files.path_of(&names::snapshot_file(offset));
            if offset > at.min(self.next_offset) {
                self.files.disk().remove(&path)?;
                continue;
            }
            // What it says of producers is too old where batches behind it are deleted.
            if offset < first {
                self.files.disk().remove(&path)?;
                continue;
            }
            let content = self.files.disk().read_small(&path, FILE_BYTES_MAX)?;
            if let Some(Ok(producers)) = content.map(|content| producer_snapshot::decode(&content)) {
                return Ok((Some(offset), producers));
            }
            tracing::info!(path = %path.display(), "passing over a producer snapshot that is not whole");
            self.files.disk().remove(&path)?;
        }
        Ok((None, Vec::new()))
    }

    /// Brings back the batches that producers may still have in flight: a snapshot keeps the last of each, the log's
    /// last kilobytes have those before. They may be in several segments, for small ones roll often.
    fn recall(&mut self, before: i64) -> Result<(), LogError> {
        if self.producers.is_empty() {
            return Ok(());
        }
        let mut left = RECALLED_BYTES;
        let places = self.segments.partition_point(|segment| segment.base_offset < before);
        for place in (0..places).rev() {
            let segment = &self.segments[place];
            let path = self.files.path(segment.base_offset, FileKind::Log);
            let failed = |source| LogError::Io { path: path.clone(), source };
            let file = segment.file(&self.files).map_err(failed)?;
            let is_last = place + 1 == places && before < self.next_offset;
            let behind = if is_last { segment.find(&self.files, before, ReadFrom::Disk)? } else { None };
            let end = behind.map_or(segment.size, |(position, _)| position);
            let start = segment.position_within(&self.files, end.saturating_sub(left)).map_err(failed)?;
            let mut scanner = BatchScanner::new(file, start, end);
            let mut headers = Vec::new();
            while let Some((_, header)) = scanner.next_header().map_err(failed)? {
                if header.producer_id >= 0 && !header.is_control() && header.base_offset < before {
                    headers.push(header);
                }
            }
            headers.iter().rev().for_each(|header| self.producers.recall(header));
            left = left.saturating_sub(end - start);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Walks the batches from `from` on.
    fn walk(&mut self, from: i64, producers_from: i64, aborted_from: i64) -> Result<(), LogError> {
        for place in self.segment_of(from)..self.segments.len() {
            let segment = &self.segments[place];
            let path = self.files.path(segment.base_offset, FileKind::Log);
            let failed = |source| LogError::Io { path: path.clone(), source };
            let start = segment.position_before(&self.files, from, ReadFrom::Disk)?;
            let file = segment.file(&self.files).map_err(failed)?;
            let mut scanner = BatchScanner::new(std::sync::Arc::clone(&file), start, segment.size);
            while let Some((position, header)) = scanner.next_header().map_err(failed)? {
                self.epochs.note(header.leader_epoch, header.base_offset);
                if header.base_offset < producers_from {
                    continue;
                }
                if header.is_control() {
                    let batch = read_whole(&*file, &path, position, header.size())?;
                    self.replay_marker(&header, &batch, aborted_from)?;
                } else {
                    self.producers.note(&header);
                }
            }
            if scanner.position() < self.segments[place].size {
                return Err(LogError::Damaged { path, position: scanner.position() });
            }
        }
        Ok(())
    }

    fn replay_marker(&mut self, header: &BatchHeader, batch: &[u8], aborted_from: i64) -> Result<(), LogError> {
        let marker = match read_marker(batch) {
            Ok(Some(marker)) => marker,
            Ok(None) if header.record_count == 0 => {
                self.producers.note_spent_marker(header);
                return Ok(());
            }
            _ => return Ok(()),
        };
        match self.producers.note_marker(header, &marker) {
            Some(completed) if header.base_offset >= aborted_from => {
                self.note_completed(&completed).map_err(|source| self.failed(source))
            }
            _ => Ok(()),
        }
    }
}
