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
//! 2. Rename the indexes to `.swap`, and last `B.log.cleaned` to `B.log.swap`; sync the directory. **From here on the
//!    cleaned segment counts.**
//! 3. Rename all files of the group's segments but the first to `.deleted`; rename the `.swap` indexes and last
//!    `B.log.swap` to their final names, over those of the first segment; remove the first segment's `.txnindex` when
//!    the new one has none; sync the directory. Readers that hold the old files finish with them.
//! 4. Remove `.deleted` files after `file.delete.delay.ms`, and the producer snapshots of the segments that are gone.
//! 5. After the last group write `cleaner-offset-checkpoint` with [`cleaner::Cleaner::end_offset`].
//!
//! What recovery may find, before it looks at segments, and does:
//!
//! | Found | Meaning | Done |
//! |---|---|---|
//! | any `.cleaned` | step 1 or 2 was cut | every `.cleaned` is removed; `.swap` indexes without `.log.swap` too |
//! | `B.log.swap` | step 2 was done, 3 perhaps in part | see below |
//! | `.deleted` | step 3 was done | removed |
//!
//! A `B.log.swap` was synced whole before it got its name. Recovery reads its last batch for its end offset, removes
//! the segments with base offsets above `B` and below that end, renames the file to `B.log` over the old one, removes
//! all index files of `B` in whatever state, syncs the directory and rebuilds the indexes, as for any segment without
//! them. The transaction index needs nothing but the segment: cleaning left no record of an aborted transaction in it.
//! A segment of the group that began behind the last batch left in the swap stays as it was, with its own index; it is
//! the later part of the group uncleaned, which is a state that a cleaning cut between two groups leaves too. The
//! other order, an earlier part uncleaned and a later one cleaned, must never be seen: a tombstone could be gone and
//! the value it deleted still there. This is why groups are swapped in their order.
//!
//! A cut before step 5 only has the same section cleaned again.

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
