//! One round of cleaning: the latest offset of every key in the dirty section, then all segments filtered by it.
//!
//! The caller plans ([`super::plan`]), opens the segments, and gives each group's output a file of its own. A round
//! takes in as many keys as its [`KeyMap`] holds; when that is not all of the dirty section, what lies behind
//! [`Cleaner::end_offset`] stays as it is, and the next round begins there. Invariant: a record is removed only when
//! it is of an aborted transaction, has no key, has a later record of its key below the end offset, or is a tombstone
//! past its delete horizon.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;

use pillion_wire::records::{BatchHeader, BatchRecords, RecordView, RecordsError};

use super::CompactionError;
use super::batches::{Batch, Batches, SealedSegment};
use super::filter::{BatchDecision, FilterSettings, Filtered, filter_batch};
use super::key_map::KeyMap;
use super::transactions::{CleanedTransactions, Marker};
use crate::log::format::transaction_index::AbortedTransaction;

/// What a log knows of a producer, whose last batch must outlive its records: sequences and epochs are found in it. As in
/// a producer snapshot: a marker that raised the epoch (KIP-890) has made the producer one without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastRecord {
    /// Offset of the last data record of this epoch; `None` when there is only a marker of it.
    pub(crate) last_data_offset: Option<i64>,
    /// The producer's epoch.
    pub(crate) producer_epoch: i16,
}

/// How a round is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundSettings {
    /// The time, in milliseconds since 1970.
    pub(crate) now_ms: i64,
    /// `delete.retention.ms`.
    pub(crate) delete_retention_ms: i64,
    /// First offset of the dirty section.
    pub(crate) first_dirty_offset: i64,
    /// Offset behind the dirty section: the base offset of the first segment that must not be cleaned.
    pub(crate) bound: i64,
    /// `log.cleaner.dedupe.buffer.size`: what the key map may take, in bytes.
    pub(crate) dedupe_buffer_bytes: usize,
    /// `log.cleaner.io.buffer.size`: what is read at a time, in bytes.
    pub(crate) chunk_bytes: usize,
    /// What a batch may decompress to, in bytes.
    pub(crate) decompressed_bytes_max: usize,
}

/// What a round asks of the log, and tells its owner.
pub(crate) trait RoundContext {
    /// Aborted transactions with records or markers in the offsets `start..end`, also those whose marker is behind.
    fn aborted_transactions(&self, start: i64, end: i64) -> Result<Vec<AbortedTransaction>, CompactionError>;

    /// Told how many bytes are about to be read; may wait, to keep within `log.cleaner.io.max.bytes.per.second`.
    /// `false` ends the cleaning, as when the topic is deleted or the broker stops.
    fn progress(&mut self, bytes: usize) -> bool;
}

/// What a cleaning did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CleanerStatistics {
    /// Bytes read in the second pass.
    pub(crate) bytes_read: u64,
    /// Bytes written.
    pub(crate) bytes_written: u64,
    /// Records removed from batches that were looked into.
    pub(crate) records_removed: u64,
    /// Of them, records without a key, which a compacted log should not have.
    pub(crate) records_without_key: u64,
    /// Batches of aborted transactions removed.
    pub(crate) batches_aborted: u64,
}

/// The second pass of a round.
pub(crate) struct Cleaner<'a> {
    settings: RoundSettings,
    last_records: &'a HashMap<i64, LastRecord>,
    keys: KeyMap,
    end_offset: i64,
    transactions: CleanedTransactions,
    statistics: CleanerStatistics,
}

impl<'a> Cleaner<'a> {
    /// The first pass: reads the dirty ones of `segments`, all below the bound and in order, into a key map.
    ///
    /// # Errors
    /// [`CompactionError`]; nothing was written.
    pub(crate) fn map_keys(
        settings: RoundSettings,
        segments: &[SealedSegment],
        last_records: &'a HashMap<i64, LastRecord>,
        context: &mut dyn RoundContext,
    ) -> Result<Self, CompactionError> {
        let mut keys = KeyMap::new(settings.dedupe_buffer_bytes, rand::random());
        let mut transactions = CleanedTransactions::default();
        transactions.add_aborted(context.aborted_transactions(settings.first_dirty_offset, settings.bound)?);
        let mut end_offset = settings.bound;
        let dirty = segments.iter().filter(|segment| segment.end_offset > settings.first_dirty_offset);
        'segments: for segment in dirty {
            let mut batches = Batches::new(segment, settings.chunk_bytes);
            while let Some(batch) = batches.next(&mut |bytes| context.progress(bytes))? {
                if batch.header.last_offset() < settings.first_dirty_offset || batch.header.is_control() {
                    continue;
                }
                if transactions.data_batch(&batch.header) {
                    continue;
                }
                if let Some(full_at) = map_batch(&mut keys, &batch, segment, &settings)? {
                    end_offset = full_at;
                    break 'segments;
                }
            }
        }
        let transactions = CleanedTransactions::default();
        Ok(Self { settings, last_records, keys, end_offset, transactions, statistics: CleanerStatistics::default() })
    }

    /// Offset behind what this round cleans; the first dirty offset of the next.
    pub(crate) fn end_offset(&self) -> i64 {
        self.end_offset
    }

    /// What was done so far.
    pub(crate) fn statistics(&self) -> CleanerStatistics {
        self.statistics
    }

    /// The second pass over one group of segments: gives `append` every batch that is left, in order. Groups come in
    /// order from the log's first segment to the one that holds the end offset, each once. Answers the entries of the
    /// new segment's transaction index.
    ///
    /// # Errors
    /// [`CompactionError`]; what was appended is to be thrown away and the round with it.
    pub(crate) fn clean_group(
        &mut self,
        group: &[SealedSegment],
        context: &mut dyn RoundContext,
        append: &mut dyn FnMut(&[u8], &BatchHeader) -> io::Result<()>,
    ) -> Result<Vec<AbortedTransaction>, CompactionError> {
        let mut size = 0;
        for segment in group {
            let aborted = context.aborted_transactions(segment.base_offset, segment.end_offset)?;
            self.transactions.add_aborted(aborted);
            let mut batches = Batches::new(segment, self.settings.chunk_bytes);
            while let Some(batch) = batches.next(&mut |bytes| context.progress(bytes))? {
                let (filtered, header) = self.filter(&batch).map_err(|source| CompactionError::Damaged {
                    path: segment.path.clone(),
                    position: batch.position,
                    source,
                })?;
                self.statistics.bytes_read += batch.bytes.len() as u64;
                let retained = match &filtered {
                    Filtered::Unchanged => &batch.bytes,
                    Filtered::Rewritten(bytes) => bytes,
                    Filtered::Dropped => continue,
                };
                // Delete horizons make batches a little larger, and Kafka's positions in a segment are int32.
                size += retained.len() as u64;
                if size > i32::MAX as u64 {
                    return Err(CompactionError::SegmentTooLarge { base_offset: group[0].base_offset });
                }
                append(retained, &header).map_err(|source| CompactionError::Write { source })?;
                self.statistics.bytes_written += retained.len() as u64;
            }
        }
        Ok(self.transactions.take_retained())
    }

    /// What is left of a batch, and the header of that.
    fn filter(&mut self, batch: &Batch) -> Result<(Filtered, BatchHeader), RecordsError> {
        let header = &batch.header;
        let decision = self.decide(batch)?;
        let untouched = !header.is_control() && !decision.discard_records && header.base_offset >= self.end_offset;
        let settings = FilterSettings {
            delete_horizon_ms: self.settings.now_ms.saturating_add(self.settings.delete_retention_ms),
            decompressed_bytes_max: self.settings.decompressed_bytes_max,
        };
        let expired = header.delete_horizon_ms().is_some_and(|horizon| horizon <= self.settings.now_ms);
        let (keys, end_offset, statistics) = (&self.keys, self.end_offset, &mut self.statistics);
        let retain = |record: &RecordView<'_>| {
            if header.is_control() || record.offset >= end_offset {
                return true;
            }
            let Some(key) = record.key else {
                statistics.records_without_key += 1;
                statistics.records_removed += 1;
                return false;
            };
            let superseded = keys.get(key).is_some_and(|latest| latest > record.offset);
            let retained = !superseded && (record.value.is_some() || !expired);
            statistics.records_removed += u64::from(!retained);
            retained
        };
        let filtered = match untouched {
            true => Filtered::Unchanged,
            false => filter_batch(&batch.bytes, header, decision, settings, retain)?,
        };
        let header = match &filtered {
            Filtered::Rewritten(bytes) => BatchHeader::parse(bytes)?,
            _ => batch.header,
        };
        Ok((filtered, header))
    }

    /// What becomes of a batch as a whole.
    fn decide(&mut self, batch: &Batch) -> Result<BatchDecision, RecordsError> {
        let header = &batch.header;
        let expired = header.delete_horizon_ms().is_some_and(|horizon| horizon <= self.settings.now_ms);
        let (discard_records, marker_expires) = if header.is_control() {
            let marker = read_marker(batch, self.settings.decompressed_bytes_max)?;
            let spent = self.transactions.control_batch(header, marker);
            (spent && expired, spent)
        } else {
            let aborted = self.transactions.data_batch(header);
            self.statistics.batches_aborted += u64::from(aborted);
            (aborted, false)
        };
        let last_of_producer = self.last_records.get(&header.producer_id).filter(|_| header.producer_id >= 0);
        let last_of_producer = last_of_producer.is_some_and(|last| match last.last_data_offset {
            Some(offset) => header.last_offset() == offset,
            None => header.is_control() && header.producer_epoch == last.producer_epoch,
        });
        // The last batch of all that is cleaned stays too: the log's readers find in it where the cleaned part ends.
        let keep_when_empty = last_of_producer || header.next_offset() == self.settings.bound;
        Ok(BatchDecision { discard_records, keep_when_empty, marker_expires })
    }
}

/// Puts the keys of a batch into the map; answers the offset of the first record that found no room.
fn map_batch(
    keys: &mut KeyMap,
    batch: &Batch,
    segment: &SealedSegment,
    settings: &RoundSettings,
) -> Result<Option<i64>, CompactionError> {
    let mut full_at = None;
    BatchRecords::decompress_within(&batch.header, &batch.bytes, settings.decompressed_bytes_max)
        .and_then(|records| {
            records.each(|record| {
                let dirty = record.offset >= settings.first_dirty_offset;
                let put = record.key.filter(|_| dirty).map_or(Ok(()), |key| keys.put(key, record.offset));
                if put.is_err() {
                    full_at = Some(record.offset);
                }
                put.is_ok()
            })
        })
        .map_err(|source| {
            let (path, position) = (segment.path.clone(), batch.position);
            CompactionError::Damaged { path, position, source }
        })?;
    Ok(full_at)
}

fn read_marker(batch: &Batch, limit: usize) -> Result<Marker, RecordsError> {
    let records = BatchRecords::decompress_within(&batch.header, &batch.bytes, limit)?;
    let mut marker = Marker::Removed;
    records.each(|record| {
        marker = Marker::of(Some(&record));
        false
    })?;
    Ok(marker)
}
