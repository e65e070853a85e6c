//! Up to where a reader may read.

/// What a reader asks to see of transactions (KIP-98).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Everything below the high watermark.
    ReadUncommitted,
    /// What is below the last stable offset, with the list of aborted transactions to skip.
    ReadCommitted,
}

impl Isolation {
    /// From a request's number: 1 is committed, and whatever else was there before there were transactions is not.
    pub(crate) fn from_level(level: i8) -> Self {
        if level == 1 { Self::ReadCommitted } else { Self::ReadUncommitted }
    }
}
