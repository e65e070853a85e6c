//! What can go wrong in a log.

use std::path::PathBuf;

use thiserror::Error;

/// A log that could not do what was asked.
#[derive(Debug, Error)]
pub enum LogError {
    /// The disk refused.
    #[error("cannot read or write the log in {}", path.display())]
    Io {
        /// The partition's directory, or a file in it.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// An offset before the log's start or beyond its end.
    #[error("offset {offset} is outside {log_start_offset}..={next_offset}")]
    OffsetOutOfRange {
        /// The offset asked for.
        offset: i64,
        /// The first offset there is.
        log_start_offset: i64,
        /// The offset the next record gets.
        next_offset: i64,
    },
    /// The bytes are not in memory, and the caller did not want to wait for the disk.
    #[error("the bytes are not in memory")]
    NotCached,
    /// A batch where the index says there is one is not readable.
    #[error("no batch at byte {position} of {}", path.display())]
    Damaged {
        /// The partition's directory.
        path: PathBuf,
        /// Bytes from the segment's start.
        position: u64,
    },
    /// What was on disk is not there any more, or more than that is.
    #[error(
        "the log in {} ends at offset {found} and was on disk up to {expected}: its files were damaged or removed; the partition is offline until they are put back, or its directory is moved away and the broker restarted (pillion log verify says what is left)",
        path.display()
    )]
    Shortened {
        /// The partition's directory.
        path: PathBuf,
        /// Where it ends.
        found: i64,
        /// Where it ended when that was written down.
        expected: i64,
    },
    /// The log could not be opened, and is neither read nor written.
    #[error("the partition is offline: {0}")]
    Offline(String),
    /// The topic was deleted: its files' names may be another's by now.
    #[error("the topic was deleted")]
    Deleted,
}
