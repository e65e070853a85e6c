//! Takes files apart, one item at a time; nothing of a segment but one batch is held in memory.

use std::ops::Range;
use std::path::Path;

use super::finding::{Findings, REBUILT};
use super::index::{aborted_transactions, offset_entries, time_entries};
use super::item::{Item, ProducerItem, RecordItem};
use super::{Batch, ControlMarker, FileKind, InspectError, Piece, Segment, entries, file_name, small_file};
use crate::data_directory::base64;
use crate::error_codes::in_words;
use crate::log::format::{
    FormatError, leader_epoch_checkpoint, names, offset_checkpoint, partition_metadata, producer_snapshot,
};

/// What to leave out.
#[derive(Debug, Clone)]
pub struct DumpOptions {
    /// Look into batches.
    pub records: bool,
    /// Only batches, records and index entries of these offsets.
    pub offsets: Range<i64>,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self { records: false, offsets: i64::MIN..i64::MAX }
    }
}

/// Takes the file at `path` apart, or every file in the directory and those below it, and gives `take` each item with
/// its file. Answers how many findings were of something wrong.
///
/// # Errors
/// [`InspectError`], and what `take` fails with.
pub fn dump<E: From<InspectError>>(
    path: &Path,
    options: &DumpOptions,
    take: &mut dyn FnMut(&Path, Item) -> Result<(), E>,
) -> Result<u64, E> {
    let metadata = std::fs::metadata(path).map_err(|source| InspectError::io(path, source))?;
    if metadata.is_dir() {
        let mut wrong = 0;
        for entry in entries(path)? {
            // A link might lead in a circle; no broker makes one in its directory.
            let Ok(metadata) = std::fs::symlink_metadata(&entry) else { continue };
            if metadata.is_dir() || metadata.is_file() {
                wrong += dump(&entry, options, take)?;
            }
        }
        return Ok(wrong);
    }
    let kind = FileKind::of(path);
    take(path, Item::File { kind, bytes: metadata.len() })?;
    let mut findings = Findings::of(path);
    match kind {
        FileKind::Segment | FileKind::MetadataSnapshot => dump_segment(path, options, &mut findings, take)?,
        FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TransactionIndex => {
            let items = index_items(path, kind, &mut findings)?;
            items.into_iter().filter(|item| is_within(item, &options.offsets)).try_for_each(|item| take(path, item))?;
        }
        FileKind::Other => {}
        _ => small_items(path, kind, &mut findings)?.into_iter().try_for_each(|item| take(path, item))?,
    }
    let findings = findings.into_list();
    let wrong = findings.iter().filter(|finding| finding.is_wrong()).count() as u64;
    findings.into_iter().try_for_each(|finding| take(path, Item::Finding(finding)))?;
    Ok(wrong)
}

fn dump_segment<E: From<InspectError>>(
    path: &Path,
    options: &DumpOptions,
    findings: &mut Findings,
    take: &mut dyn FnMut(&Path, Item) -> Result<(), E>,
) -> Result<(), E> {
    const SEE_VERIFY: &str = "`pillion log verify` on the partition's directory says what to do";
    let segment = Segment::open(path)?;
    for piece in segment.pieces() {
        match piece? {
            Piece::Batch(batch) => {
                if batch.last_offset < options.offsets.start || batch.base_offset >= options.offsets.end {
                    continue;
                }
                let position = batch.position;
                take(path, Item::Batch(batch.clone()))?;
                if !batch.checksum_valid {
                    let what = format!("the checksum is not {:08x}", batch.checksum);
                    findings.damage(position, what, SEE_VERIFY);
                } else if options.records {
                    match segment.records(&batch) {
                        Ok(records) => {
                            let wanted = records.into_iter().filter(|record| options.offsets.contains(&record.offset));
                            wanted.map(|record| record_item(&batch, record)).try_for_each(|item| take(path, item))?;
                        }
                        Err(error @ InspectError::Io { .. }) => return Err(error.into()),
                        Err(error) => findings.damage(position, in_words(&error), SEE_VERIFY),
                    }
                }
            }
            Piece::Zeroes { position, bytes } => take(path, Item::Zeroes { position, bytes })?,
            Piece::Unreadable { position, bytes, why } => {
                findings.damage(position, format!("{bytes} bytes are no batch: {why}"), SEE_VERIFY);
            }
        }
    }
    Ok(())
}

fn record_item(batch: &Batch, record: super::Record) -> Item {
    if !batch.control {
        return Item::Record(RecordItem::new(batch, record));
    }
    let (marker, coordinator_epoch) = ControlMarker::read(&record);
    Item::Marker { offset: record.offset, timestamp: record.timestamp, marker, coordinator_epoch }
}

fn index_items(path: &Path, kind: FileKind, findings: &mut Findings) -> Result<Vec<Item>, InspectError> {
    let base_offset = names::parse(&file_name(path)).map_or(0, |file| file.base_offset);
    Ok(match kind {
        FileKind::OffsetIndex => offset_entries(path, base_offset, findings)?
            .into_iter()
            .map(|entry| Item::OffsetIndexEntry { offset: entry.offset, position: entry.position })
            .collect(),
        FileKind::TimeIndex => time_entries(path, base_offset, findings)?
            .into_iter()
            .map(|entry| Item::TimeIndexEntry { timestamp: entry.timestamp, offset: entry.offset })
            .collect(),
        _ => aborted_transactions(path, findings)?
            .into_iter()
            .map(|(_, entry)| Item::AbortedTransaction {
                producer_id: entry.producer_id,
                first_offset: entry.first_offset,
                last_offset: entry.last_offset,
                last_stable_offset: entry.last_stable_offset,
            })
            .collect(),
    })
}

fn is_within(item: &Item, offsets: &Range<i64>) -> bool {
    match item {
        Item::OffsetIndexEntry { offset, .. } | Item::TimeIndexEntry { offset, .. } => offsets.contains(offset),
        Item::AbortedTransaction { first_offset, last_offset, .. } => {
            *last_offset >= offsets.start && *first_offset < offsets.end
        }
        _ => true,
    }
}

fn small_items(path: &Path, kind: FileKind, findings: &mut Findings) -> Result<Vec<Item>, InspectError> {
    if kind == FileKind::ProducerSnapshot {
        return Ok(or_finding(producer_snapshot::decode(&small_file::read(path)?), findings, |entry| {
            Item::Producer(ProducerItem {
                producer_id: entry.producer_id,
                producer_epoch: entry.producer_epoch,
                last_sequence: entry.last_sequence,
                last_offset: entry.last_offset,
                offset_delta: entry.offset_delta,
                timestamp: entry.timestamp,
                coordinator_epoch: entry.coordinator_epoch,
                current_transaction_first_offset: entry.current_transaction_first_offset,
            })
        }));
    }
    let text = small_file::read_text(path)?;
    Ok(match kind {
        FileKind::LeaderEpochCheckpoint => {
            or_finding(leader_epoch_checkpoint::decode(&text), findings, |(epoch, start_offset)| Item::LeaderEpoch {
                epoch,
                start_offset,
            })
        }
        FileKind::OffsetCheckpoint => {
            or_finding(offset_checkpoint::decode(&text), findings, |(topic, partition, offset)| Item::PartitionOffset {
                topic,
                partition,
                offset,
            })
        }
        FileKind::PartitionMetadata => {
            let id = partition_metadata::decode(&text).map(|id| vec![id]);
            or_finding(id, findings, |id| Item::Topic { topic_id: base64(id) })
        }
        _ => text.lines().map(|line| Item::Line { text: line.to_owned() }).collect(),
    })
}

fn or_finding<T>(decoded: Result<Vec<T>, FormatError>, findings: &mut Findings, item: impl Fn(T) -> Item) -> Vec<Item> {
    match decoded {
        Ok(decoded) => decoded.into_iter().map(item).collect(),
        Err(error) => {
            findings.repairable(None, error.to_string(), REBUILT);
            Vec::new()
        }
    }
}
