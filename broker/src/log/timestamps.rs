//! Finding offsets by timestamp, down to the record inside its batch.

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, BatchRecords, Record, RecordsError};

use super::scan::read_whole;
use super::segment::Segment;
use super::{Log, LogError, LogView};
use crate::disk::FileKind;

/// An offset and the timestamp of the record there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimestampedOffset {
    /// The record's offset.
    pub(crate) offset: i64,
    /// Its timestamp, milliseconds since 1970.
    pub(crate) timestamp: i64,
}

impl Log {
    /// The segment with the first record of at least `timestamp`, to look in without holding the log; two where all
    /// such records of the first one may be deleted, which only those before the log's start are.
    pub(crate) fn view_timestamp(&self, timestamp: i64) -> LogView {
        let segments = self.segments[self.segment_of(self.log_start_offset)..].iter();
        let segments = segments.filter(|segment| segment.max_timestamp >= timestamp).take(2);
        LogView::of(self.files.clone(), segments.cloned().collect(), self.generation)
    }

    /// The largest timestamp; `None` when no record has one.
    pub(crate) fn max_timestamp(&self) -> Option<i64> {
        self.segments.iter().map(|segment| segment.max_timestamp).max().filter(|timestamp| *timestamp >= 0)
    }
}

impl LogView {
    /// The first record in [`start_offset`, `end_offset`) with a timestamp of at least `timestamp`. May wait for the
    /// disk.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Damaged`].
    pub(crate) fn first_at_or_after(
        &self,
        timestamp: i64,
        start_offset: i64,
        end_offset: i64,
    ) -> Result<Option<TimestampedOffset>, LogError> {
        for segment in &self.segments {
            if let Some(found) = self.first_in(segment, timestamp, start_offset)? {
                return Ok(Some(found).filter(|found| found.offset < end_offset));
            }
        }
        Ok(None)
    }

    fn first_in(
        &self,
        segment: &Segment,
        timestamp: i64,
        start_offset: i64,
    ) -> Result<Option<TimestampedOffset>, LogError> {
        let path = self.files.path(segment.base_offset, FileKind::Log);
        let failed = |source| LogError::Io { path: path.clone(), source };
        let file = segment.file(&self.files).map_err(failed)?;
        let mut least_offset = start_offset;
        let (header, found) = loop {
            let wanted =
                |max_timestamp: i64, last_offset: i64| max_timestamp >= timestamp && last_offset >= least_offset;
            let found = segment.find_timestamp(&self.files, timestamp, wanted)?;
            let Some((position, header)) = found else { return Ok(None) };
            let batch = read_whole(&*file, &path, position, header.size())?;
            let found = first_record(&Bytes::from(batch), timestamp, start_offset)
                .map_err(|_| LogError::Damaged { path: path.clone(), position })?;
            if found.is_some() || header.base_offset >= start_offset {
                break (header, found);
            }
            // The log starts inside this batch, behind the records asked for.
            least_offset = header.next_offset();
        };
        // A batch with lying timestamps is answered by its first offset: consumers skip, they do not miss.
        let (offset, timestamp) = found
            .map_or((header.base_offset.max(start_offset), header.max_timestamp), |record| {
                (record.offset, record.timestamp)
            });
        Ok(Some(TimestampedOffset { offset, timestamp }))
    }
}

/// The batch's first record from `start_offset` on with a timestamp of at least `timestamp`. One record is held at a time:
/// a small batch may decompress to millions.
fn first_record(batch: &Bytes, timestamp: i64, start_offset: i64) -> Result<Option<Record>, RecordsError> {
    let header = BatchHeader::verify(batch)?;
    let records = BatchRecords::decompress(&header, batch)?;
    for record in &records {
        let record = record?;
        if record.timestamp >= timestamp && record.offset >= start_offset {
            return Ok(Some(record));
        }
    }
    Ok(None)
}
