//! What a consumer wants to see of transactions.

/// A consumer's `isolation.level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Everything below the high watermark.
    ReadUncommitted,
    /// Everything below the last stable offset, with a list of what was aborted.
    ReadCommitted,
}
