//! Finding offsets by timestamp, down to the record inside its batch.

use bytes::Bytes;
use pillion_wire::records::{BatchHeader, Record, read_batch};

use super::segment::Segment;
use super::{Log, LogError};

/// An offset and the timestamp of the record there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimestampedOffset {
    /// The record's offset.
    pub(crate) offset: i64,
    /// Its timestamp, milliseconds since 1970.
    pub(crate) timestamp: i64,
}

impl Log {
    /// The first record below `end_offset` with a timestamp of at least `timestamp`.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Damaged`]. May wait for the disk.
    pub(crate) fn first_at_or_after(
        &self,
        timestamp: i64,
        end_offset: i64,
    ) -> Result<Option<TimestampedOffset>, LogError> {
        for segment in self.segments.iter().filter(|segment| segment.max_timestamp() >= timestamp) {
            let Some((position, header)) = segment.find_timestamp(timestamp)? else { continue };
            let records = self.records(segment, position, &header)?;
            let found = records.iter().find(|record| record.timestamp >= timestamp);
            // A batch with lying timestamps is answered by its first offset: consumers skip, they do not miss.
            let found =
                found.map_or((header.base_offset, header.max_timestamp), |record| (record.offset, record.timestamp));
            return Ok(Some(TimestampedOffset { offset: found.0, timestamp: found.1 })
                .filter(|found| found.offset < end_offset));
        }
        Ok(None)
    }

    /// The first record with the largest timestamp below `end_offset` (KIP-734).
    ///
    /// # Errors
    /// As [`Log::first_at_or_after`].
    pub(crate) fn with_max_timestamp(&self, end_offset: i64) -> Result<Option<TimestampedOffset>, LogError> {
        let largest = self.segments.iter().map(Segment::max_timestamp).max().filter(|timestamp| *timestamp >= 0);
        largest.map_or(Ok(None), |timestamp| self.first_at_or_after(timestamp, end_offset))
    }

    fn records(&self, segment: &Segment, position: u64, header: &BatchHeader) -> Result<Vec<Record>, LogError> {
        let mut batch = vec![0; header.size()];
        let read = segment.file().read_at(position, &mut batch).map_err(|source| self.error(source))?;
        batch.truncate(read);
        let damaged = |_| LogError::Damaged { path: self.directory.clone(), position };
        read_batch(&Bytes::from(batch)).map(|(_, records)| records).map_err(damaged)
    }
}
