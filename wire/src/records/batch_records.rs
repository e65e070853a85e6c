//! The records of one batch, decompressed, and read one at a time.
//!
//! For whoever looks through a batch that may be hostile: reading takes memory by the batch's bytes, which are bounded,
//! never by the number of records it claims or holds.

use bytes::Bytes;

use super::record::read_record;
use super::{BatchHeader, Compression, DECOMPRESSED_BYTES_MAX, HEADER_BYTES, Record, RecordsError};
use crate::Reader;

/// A batch's decompressed records.
#[derive(Debug, Clone)]
pub struct BatchRecords {
    pub(super) header: BatchHeader,
    pub(super) body: Bytes,
}

impl BatchRecords {
    /// Decompresses the records of a batch, to at most [`DECOMPRESSED_BYTES_MAX`] bytes. `batch` begins with the whole
    /// batch that `header` was verified of; without a codec its memory is shared.
    ///
    /// # Errors
    /// [`RecordsError`] when the codec is not known, refuses the bytes or makes too many of them, or the batch is cut.
    pub fn decompress(header: &BatchHeader, batch: &Bytes) -> Result<Self, RecordsError> {
        Self::decompress_within(header, batch, DECOMPRESSED_BYTES_MAX)
    }

    /// As [`BatchRecords::decompress`], to at most `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`BatchRecords::decompress`].
    pub fn decompress_within(header: &BatchHeader, batch: &Bytes, bytes_max: usize) -> Result<Self, RecordsError> {
        let (needed, left) = (header.size(), batch.len());
        if needed > left {
            return Err(RecordsError::Truncated { needed, left });
        }
        let body = batch.slice(HEADER_BYTES..needed);
        let body = match header.compression()? {
            Compression::None => body,
            codec => Bytes::from(codec.decompress(&body, bytes_max)?.into_owned()),
        };
        Ok(Self { header: *header, body })
    }

    /// The records' bytes, one behind the other.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Reads the records in order. Ends behind the first error; bytes behind the last record are one.
    #[must_use]
    pub fn iter(&self) -> RecordIterator<'_> {
        RecordIterator { header: &self.header, reader: Reader::new(&self.body), index: 0, ended: false }
    }
}

impl<'a> IntoIterator for &'a BatchRecords {
    type Item = Result<Record, RecordsError>;
    type IntoIter = RecordIterator<'a>;

    fn into_iter(self) -> RecordIterator<'a> {
        self.iter()
    }
}

/// Reads a batch's records.
#[derive(Debug)]
pub struct RecordIterator<'a> {
    header: &'a BatchHeader,
    reader: Reader<'a>,
    index: i32,
    ended: bool,
}

impl Iterator for RecordIterator<'_> {
    type Item = Result<Record, RecordsError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.index >= self.header.record_count {
            self.ended = true;
            let index = self.index;
            return (self.reader.remaining() != 0).then_some(Err(RecordsError::RecordLength { index }));
        }
        let record = read_record(&mut self.reader, self.header, self.index);
        self.index += 1;
        self.ended = record.is_err();
        Some(record)
    }
}
