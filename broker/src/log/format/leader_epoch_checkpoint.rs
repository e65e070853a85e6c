//! `leader-epoch-checkpoint`: at which offset each leader epoch of a partition began (KIP-101).
//!
//! ```text
//! 0            version
//! 2            entries
//! 0 0          leader epoch, offset of its first record; both grow from line to line
//! 3 1042
//! ```

use super::{FormatError, text_checkpoint};

/// The file of these `(leader epoch, start offset)`.
pub(crate) fn encode(epochs: &[(i32, i64)]) -> String {
    text_checkpoint::encode(&epochs.iter().map(|(epoch, offset)| format!("{epoch} {offset}")).collect::<Vec<_>>())
}

/// The `(leader epoch, start offset)` of a file, as they stand there.
///
/// # Errors
/// [`FormatError`] naming the line.
pub(crate) fn decode(text: &str) -> Result<Vec<(i32, i64)>, FormatError> {
    text_checkpoint::decode(text, "a leader epoch and an offset", |words| {
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    })
}
