//! Record batches, format v2 (magic 2, KIP-98): the header every batch begins with, and the records inside.
//!
//! A broker needs only [`BatchHeader`]; records are looked into by consumers, compaction and whoever builds them.

mod batch_records;
mod builder;
mod compression;
mod control;
mod error;
mod header;
mod record;
mod rewrite;
#[cfg(test)]
mod tests;

pub use batch_records::{BatchRecords, RecordIterator};
pub use builder::{BatchBuilder, BatchProducer};
pub use compression::Compression;
pub use control::{EndTransactionMarker, control_batch, read_marker};
pub use error::RecordsError;
pub use header::{BatchHeader, HEADER_BYTES, STAMPED_BYTES, TimestampType, advance_sequence};
pub use record::{DECOMPRESSED_BYTES_MAX, Record, RecordHeader, read_batch};
pub use rewrite::{BatchRewriter, RecordView};
