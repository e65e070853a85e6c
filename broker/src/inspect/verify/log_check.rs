//! A partition's segments, one after the other: what each batch promises of the next, and of the files beside it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::finding::{Findings, REBUILT};
use super::super::{Batch, InspectError, Piece, Record, small_file};
use super::Report;
use super::data_directory::{DataDirectory, Known};
use super::segment_files::SegmentFiles;
use super::transactions::OpenTransactions;
use crate::error_codes::in_words;
use crate::log::format::leader_epoch_checkpoint;

pub(super) const RESTORE: &str = "set the partition's files aside and restore them from a backup or a replica";
const CUT: &str = "nothing: the next start cuts the log here; nothing behind it was ever confirmed as durable";
const FELL: &str = "nothing: Kafka had the log again, and counts epochs from where it had stopped";
const LIVE: &str = "nothing while the broker runs: its next clean stop cuts them";

/// A log, as far as it has been read.
pub(super) struct LogCheck {
    directory: PathBuf,
    known: Known,
    /// Leader epochs and where they begin; empty when the checkpoint is missing or unreadable.
    epochs: Vec<(i32, i64)>,
    last_epoch: i32,
    /// The offset that comes next; `None` where that is not known: at the start, and behind damage.
    next_offset: Option<i64>,
    /// Whether something shows that the log was compacted.
    is_compacted: bool,
    transactions: OpenTransactions,
    /// What is wrong unless the log was compacted.
    unless_compacted: Vec<Findings>,
    /// What is wrong unless leader epochs fall further on: Kafka then forgets those above.
    unless_epochs_fall: Vec<Findings>,
    /// There is no segment behind the one that is read.
    is_last: bool,
}

impl LogCheck {
    pub(super) fn new(directory: &Path, around: &DataDirectory) -> Self {
        let known = around.known_of(directory);
        let epochs = small_file::read_text(&directory.join("leader-epoch-checkpoint")).unwrap_or_default();
        Self {
            directory: directory.to_owned(),
            is_compacted: known.cleaned_to.is_some(),
            known,
            epochs: leader_epoch_checkpoint::decode(&epochs).unwrap_or_default(),
            last_epoch: -1,
            next_offset: None,
            transactions: OpenTransactions::default(),
            unless_compacted: Vec::new(),
            unless_epochs_fall: Vec::new(),
            is_last: false,
        }
    }

    /// Of a segment by itself: whether it is the log's last is not known, so it is held to less.
    pub(super) fn of_one_segment(directory: &Path, around: &DataDirectory) -> Self {
        Self { is_last: true, ..Self::new(directory, around) }
    }

    /// Says whether the segment that is read next is the log's last.
    pub(super) fn set_last(&mut self, is_last: bool) {
        self.is_last = is_last;
    }

    /// Reads a segment and the files beside it.
    pub(super) fn segment(&mut self, base_offset: i64, report: &mut Report) -> Result<(), InspectError> {
        let mut files = SegmentFiles::open(&self.directory, base_offset)?;
        report.segments += 1;
        report.bytes += files.segment.length();
        if let Some(next) = self.next_offset.filter(|next| *next > base_offset) {
            let what = format!("it begins at offset {base_offset}, the segment before ends at {next}");
            files.findings.damage(0, what, RESTORE);
        }
        // A segment begins with its base offset, and the log goes on without a gap.
        let begins = self.next_offset.map_or(base_offset, |next| next.min(base_offset));
        self.next_offset = Some(begins);
        let segment = Rc::clone(&files.segment);
        for piece in segment.pieces() {
            match piece? {
                Piece::Batch(batch) if batch.checksum_valid => self.batch(base_offset, &batch, &mut files, report)?,
                Piece::Batch(batch) => self.bad_checksum(&batch, &mut files),
                Piece::Zeroes { position, bytes } => {
                    files.findings.note(position, format!("{bytes} zeroes behind the last batch"), LIVE);
                }
                Piece::Unreadable { position, bytes, why } => self.unreadable(position, bytes, &why, &mut files),
            }
        }
        if !files.has_batches {
            self.next_offset = self.next_offset.map(|next| next.max(base_offset));
        }
        self.close(files, report);
        Ok(())
    }

    fn batch(
        &mut self,
        base_offset: i64,
        batch: &Batch,
        files: &mut SegmentFiles,
        report: &mut Report,
    ) -> Result<(), InspectError> {
        report.batches += 1;
        files.has_batches = true;
        self.check_offsets(base_offset, batch, files);
        self.check_epoch(batch, files);
        match files.segment.records(batch) {
            Ok(records) => {
                report.records += records.len() as u64;
                check_records(batch, &records, &mut files.findings);
                self.transactions.batch(batch, &records, &mut files.transaction_index);
            }
            Err(error @ InspectError::Io { .. }) => return Err(error),
            Err(error @ InspectError::BatchTooLarge { .. }) => {
                let advice = "consume it with a client that has the memory, to see whether it can be read";
                files.findings.note(batch.position, in_words(&error), advice);
            }
            Err(error) => {
                let advice = "its producer sent it so; consumers fail on it: let them go on behind it";
                files.findings.damage(batch.position, in_words(&error), advice);
            }
        }
        files.offset_index.batch(batch);
        files.time_index.batch(batch);
        self.next_offset = Some(batch.last_offset.saturating_add(1));
        Ok(())
    }

    fn check_offsets(&mut self, base_offset: i64, batch: &Batch, files: &mut SegmentFiles) {
        let Batch { position, base_offset: first, last_offset: last, count, .. } = *batch;
        let offsets = last.saturating_sub(first).saturating_add(1);
        if first < base_offset || last < first || last - base_offset.min(last) > i64::from(i32::MAX) {
            let what = format!("a batch with offsets {first} to {last} in a segment from {base_offset}");
            files.findings.damage(position, what, RESTORE);
        }
        if count < 0 || i64::from(count) > offsets {
            let what = format!("a batch of {count} records with offsets {first} to {last}");
            files.findings.damage(position, what, RESTORE);
        }
        self.is_compacted |= (0..offsets).contains(&count.into());
        let Some(expected) = self.next_offset else { return };
        if first < expected {
            let what = format!("offset {first} where {expected} or a later one belongs");
            files.findings.damage(position, what, RESTORE);
        } else if first > expected {
            let what = format!("offsets {expected} to {} are missing, and nothing shows a compaction", first - 1);
            files.gaps.damage(position, what, RESTORE);
        }
    }

    /// Epochs grow, but where Kafka goes on with a log that was led elsewhere meanwhile: it notes down where it did.
    fn check_epoch(&mut self, batch: &Batch, files: &mut SegmentFiles) {
        let Batch { position, base_offset, leader_epoch: epoch, .. } = *batch;
        if epoch < self.last_epoch {
            let what = format!("leader epoch {epoch} behind {}", self.last_epoch);
            if self.epochs.iter().any(|(begun, start)| *begun == epoch && *start >= base_offset) {
                files.findings.note(position, what, FELL);
                (self.last_epoch, self.unless_epochs_fall) = (epoch, Vec::new());
                files.epochs.clear();
            } else {
                files.findings.damage(position, what, RESTORE);
            }
        }
        self.last_epoch = self.last_epoch.max(epoch);
        let begun = self.epochs.iter().rfind(|(_, start)| *start <= base_offset);
        if let Some((expected, _)) = begun.filter(|(expected, _)| *expected != epoch) {
            let what = format!("leader epoch {epoch} at offset {base_offset}, the checkpoint says {expected}");
            let findings = if epoch > *expected { &mut files.epochs } else { &mut files.findings };
            findings.damage(position, what, RESTORE);
        }
    }

    fn bad_checksum(&mut self, batch: &Batch, files: &mut SegmentFiles) {
        let at_end = batch.position + batch.size == files.segment.length();
        let (first, last) = (batch.base_offset, batch.last_offset);
        let what = format!("the batch with offsets {first} to {last} has not the checksum {:08x}", batch.checksum);
        self.not_a_batch(batch.position, at_end, what, files);
        files.offset_index.skip_to(batch.position + batch.size);
    }

    fn unreadable(&mut self, position: u64, bytes: u64, why: &str, files: &mut SegmentFiles) {
        let at_end = position + bytes == files.segment.length();
        self.not_a_batch(position, at_end, format!("{bytes} bytes are no batch: {why}"), files);
        files.offset_index.skip_to(position + bytes);
    }

    /// A broker that was killed leaves such bytes at its log's end, behind what it had synced.
    fn not_a_batch(&mut self, position: u64, at_end: bool, what: String, files: &mut SegmentFiles) {
        let was_synced = match (self.known.recovery_point, self.next_offset) {
            (Some(point), Some(next)) => next < point,
            _ => false,
        };
        if at_end && self.is_last && !was_synced && !self.known.was_stopped_cleanly {
            files.findings.repairable(position, what, CUT);
        } else {
            files.findings.damage(position, what, RESTORE);
        }
        self.next_offset = None;
    }

    fn close(&mut self, mut files: SegmentFiles, report: &mut Report) {
        if files.has_batches && !(files.has_offset_index && files.has_time_index) {
            files.findings.note(None, "there is no offset index or no time index of it", "nothing: a start makes them");
        }
        report.add(files.findings);
        report.add(files.offset_index.finish());
        let is_closed = !self.is_last && files.has_time_index;
        report.add(files.time_index.finish(is_closed));
        let (findings, unless_compacted) = files.transaction_index.finish();
        report.add(findings);
        self.unless_compacted.extend([files.gaps, unless_compacted]);
        self.unless_epochs_fall.push(files.epochs);
    }

    /// The log has ended: says what can be told only now.
    pub(super) fn finish(self, log_file: &Path, report: &mut Report) {
        let mut findings = Findings::of(log_file);
        if let Some(end) = self.next_offset {
            self.check_end(end, &mut findings);
        }
        report.add(findings);
        self.finish_segment(report);
    }

    /// The one segment has ended, whatever the log may hold behind it.
    pub(super) fn finish_segment(mut self, report: &mut Report) {
        self.unless_epochs_fall.drain(..).for_each(|findings| report.add(findings));
        if !self.is_compacted {
            self.unless_compacted.drain(..).for_each(|findings| report.add(findings));
        }
    }

    fn check_end(&self, end: i64, findings: &mut Findings) {
        let Known { recovery_point, high_watermark, log_start, was_stopped_cleanly, .. } = self.known;
        if let Some(point) = recovery_point
            && (end < point || was_stopped_cleanly && end != point)
        {
            findings.damage(None, format!("the log ends at offset {end}, it was synced up to {point}"), RESTORE);
        }
        if let Some(high_watermark) = high_watermark.filter(|offset| *offset > end) {
            findings.damage(
                None,
                format!("the log ends at offset {end}, the high watermark was {high_watermark}"),
                RESTORE,
            );
        }
        if let Some(log_start) = log_start.filter(|offset| *offset > end) {
            findings.repairable(None, format!("the log ends at offset {end}, its start is {log_start}"), REBUILT);
        }
    }
}

/// Offsets in a batch grow, and lie in it.
fn check_records(batch: &Batch, records: &[Record], findings: &mut Findings) {
    let mut least = batch.base_offset;
    for record in records {
        if record.offset < least || record.offset > batch.last_offset {
            let what = format!(
                "a record with offset {} in the batch with offsets {} to {}",
                record.offset, batch.base_offset, batch.last_offset
            );
            findings.damage(batch.position, what, RESTORE);
        }
        least = record.offset.saturating_add(1);
    }
}
