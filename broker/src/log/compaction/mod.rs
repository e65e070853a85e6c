//! Log compaction: of the records of a key, the latest stays.
//!
//! A round ([`cleaner`]) reads the dirty section's keys ([`key_map`]), then writes every segment again without the
//! records that a later one replaces ([`filter`]) and without aborted transactions ([`transactions`]). [`plan`] says
//! which log, how far, and which segments become one. Nothing here makes, renames or removes files, or knows the
//! time: the log that owns the segments does. An error leaves its files as they were.
//!
//! # How cleaned segments take the place of old ones
//!
//! Per group, earliest first, `B` being the base offset of its first segment:
//!
//! 1. Write `B.log.cleaned`, `B.index.cleaned`, `B.timeindex.cleaned` and, when there are entries, `B.txnindex.cleaned`;
//!    sync all, then the directory. What an earlier attempt left under these names is removed first.
//! 2. Write `B.swapping`, durably: which segments go, and whether the new one has a transaction index. **From here on
//!    the cleaned segment counts.**
//! 3. Rename all files of the group's segments but the first to `.deleted`; rename the `.cleaned` files to their final
//!    names, over those of the first segment; remove the first segment's `.txnindex` when the new one has none; sync
//!    the directory. Readers that hold the old files finish with them.
//! 4. Remove `B.swapping`; sync the directory, before the next group is written.
//! 5. Remove `.deleted` files after `file.delete.delay.ms`, and the producer snapshots of the segments that are gone.
//! 6. After the last group write `cleaner-offset-checkpoint` with [`cleaner::Cleaner::end_offset`].
//!
//! A crash may undo any of the renames of step 3 and keep the others, so file names alone do not tell how far it came.
//! With `B.swapping` recovery does all of step 3 once more, as far as it was not done, and step 4, before it looks at
//! anything; without it every `.cleaned` is removed. `.deleted` files are removed. Groups are swapped in their order: an
//! earlier part uncleaned and a later one cleaned must never be seen, for a tombstone could be gone and the value it
//! deleted still there. A cut before step 6 only has the same section cleaned again.
//!
//! A `B.log.swap` is Kafka's, synced whole before it got its name. Recovery reads its last batch for its end offset,
//! removes the segments with base offsets from `B` to below that end, and puts it in their place with those of its
//! indexes that are `.swap` too; others are made again.

pub(crate) mod batches;
pub(crate) mod cleaner;
pub(crate) mod filter;
pub(crate) mod key_map;
pub(crate) mod plan;
pub(crate) mod transactions;

use std::path::PathBuf;

use pillion_wire::records::RecordsError;
use thiserror::Error;

/// A cleaning that did not get to its end; the log is as it was before.
#[derive(Debug, Error)]
pub(crate) enum CompactionError {
    /// A batch that is not right, or whose records are not.
    #[error("the batch at byte {position} of {} cannot be read, so the partition is not compacted", path.display())]
    Damaged {
        /// The segment's file.
        path: PathBuf,
        /// Bytes from the segment's start.
        position: u64,
        /// What is wrong with the batch.
        #[source]
        source: RecordsError,
    },
    /// A batch whose offsets are not behind those before it, or are not the segment's.
    #[error(
        "the batch at byte {position} of {} claims offset {offset}, so the partition is not compacted",
        path.display()
    )]
    OutOfOrder {
        /// The segment's file.
        path: PathBuf,
        /// Bytes from the segment's start.
        position: u64,
        /// Its base offset.
        offset: i64,
    },
    /// A segment could not be read.
    #[error("cannot read {} for compaction", path.display())]
    Read {
        /// The segment's file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The cleaned segment could not be written.
    #[error("cannot write a compacted segment")]
    Write {
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A cleaned segment would outgrow what a segment can be.
    #[error("the compacted segment {base_offset} would be larger than 2 GiB")]
    SegmentTooLarge {
        /// Its base offset.
        base_offset: i64,
    },
    /// The owner ended the cleaning, or deleted segments of it.
    #[error("compaction was stopped")]
    Stopped,
}
