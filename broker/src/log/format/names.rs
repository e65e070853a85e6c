//! Names of the files in a partition's directory.
//!
//! ```text
//! 00000000000000000042.log          batches from offset 42 on: a segment
//! 00000000000000000042.index        its offset index
//! 00000000000000000042.timeindex    its time index
//! 00000000000000000042.txnindex     its aborted transactions
//! 00000000000000000042.snapshot     the producers just below offset 42
//! 00000000000000000042.swapping     what the compacted segment 42 is about to take the place of
//! ….log.cleaned                     written by a compaction: worth nothing unless there is a .swapping
//! ….log.swap                        a finished compaction's of Kafka, about to take its place
//! ….log.deleted                     no longer the log's, still read by someone
//! ….log.quarantined                 damaged, set aside for a person to look at
//! ```
//!
//! Invariant: `parse` knows exactly the names that are written here.

/// Digits of an offset in a name: those of the largest int64 and one more.
const OFFSET_DIGITS: usize = 20;
/// The end of a list of segments that are being replaced.
const SWAP_LIST: &str = ".swapping";

/// What a segment's file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `.log`
    Log,
    /// `.index`
    OffsetIndex,
    /// `.timeindex`
    TimeIndex,
    /// `.txnindex`
    TransactionIndex,
    /// `.snapshot`
    Snapshot,
}

/// Which part in the log's life a file plays; all but `None` are passed over by a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffix {
    /// The log's own file.
    None,
    /// `.deleted`
    Deleted,
    /// `.cleaned`
    Cleaned,
    /// `.swap`
    Swap,
    /// `.quarantined`
    Quarantined,
}

/// A file's name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentFile {
    /// The offset in its name.
    pub(crate) base_offset: i64,
    /// What it is.
    pub(crate) kind: Kind,
    /// Which part it plays.
    pub(crate) suffix: Suffix,
}

const KINDS: [Kind; 5] = [Kind::Log, Kind::OffsetIndex, Kind::TimeIndex, Kind::TransactionIndex, Kind::Snapshot];
const SUFFIXES: [Suffix; 5] = [Suffix::None, Suffix::Deleted, Suffix::Cleaned, Suffix::Swap, Suffix::Quarantined];

impl Kind {
    /// The name's end, with its dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::OffsetIndex => ".index",
            Self::TimeIndex => ".timeindex",
            Self::TransactionIndex => ".txnindex",
            Self::Snapshot => ".snapshot",
        }
    }
}

impl Suffix {
    /// What stands behind the extension, with its dot.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Deleted => ".deleted",
            Self::Cleaned => ".cleaned",
            Self::Swap => ".swap",
            Self::Quarantined => ".quarantined",
        }
    }
}

impl SegmentFile {
    /// The file's name.
    pub(crate) fn name(self) -> String {
        let Self { base_offset, kind, suffix } = self;
        format!("{base_offset:0OFFSET_DIGITS$}{}{}", kind.extension(), suffix.text())
    }
}

/// Name of the segment that begins at `base_offset`.
pub(crate) fn log_file(base_offset: i64) -> String {
    name(base_offset, Kind::Log)
}

/// Name of that segment's offset index.
pub(crate) fn offset_index_file(base_offset: i64) -> String {
    name(base_offset, Kind::OffsetIndex)
}

/// Name of that segment's time index.
pub(crate) fn time_index_file(base_offset: i64) -> String {
    name(base_offset, Kind::TimeIndex)
}

/// Name of that segment's transaction index.
pub(crate) fn transaction_index_file(base_offset: i64) -> String {
    name(base_offset, Kind::TransactionIndex)
}

/// Name of the snapshot of the producers just below `offset`.
pub(crate) fn snapshot_file(offset: i64) -> String {
    name(offset, Kind::Snapshot)
}

/// Name of the list of segments that the compacted one at `base_offset` replaces.
pub(crate) fn swap_list_file(base_offset: i64) -> String {
    format!("{base_offset:0OFFSET_DIGITS$}{SWAP_LIST}")
}

/// Whether a name is that of such a list.
pub(crate) fn is_swap_list(name: &str) -> bool {
    let digits = name.strip_suffix(SWAP_LIST);
    digits.is_some_and(|digits| digits.len() == OFFSET_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

fn name(base_offset: i64, kind: Kind) -> String {
    SegmentFile { base_offset, kind, suffix: Suffix::None }.name()
}

/// What a name says; `None` for one that no log writes.
pub(crate) fn parse(name: &str) -> Option<SegmentFile> {
    let (digits, end) = name.split_at_checked(OFFSET_DIGITS)?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let base_offset = digits.parse().ok()?;
    let kind = KINDS.into_iter().find(|kind| {
        let behind = end.strip_prefix(kind.extension());
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('.'))
    })?;
    let suffix = end.strip_prefix(kind.extension())?;
    let suffix = SUFFIXES.into_iter().find(|known| known.text() == suffix)?;
    Some(SegmentFile { base_offset, kind, suffix })
}
