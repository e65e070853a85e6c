//! `recovery-point-offset-checkpoint` and its siblings for log starts, high watermarks and the cleaner: an offset for
//! each partition of a data directory.
//!
//! ```text
//! 0              version
//! 2              entries
//! orders 0 13    topic, partition, offset; in any order
//! orders 1 7
//! ```

use super::{FormatError, text_checkpoint};

/// The file of these `(topic, partition, offset)`.
pub(crate) fn encode<'a>(offsets: impl IntoIterator<Item = (&'a str, i32, i64)>) -> String {
    let lines = offsets.into_iter().map(|(topic, partition, offset)| format!("{topic} {partition} {offset}"));
    text_checkpoint::encode(&lines.collect::<Vec<_>>())
}

/// The `(topic, partition, offset)` of a file, as they stand there.
///
/// # Errors
/// [`FormatError`] naming the line.
pub(crate) fn decode(text: &str) -> Result<Vec<(String, i32, i64)>, FormatError> {
    text_checkpoint::decode(text, "a topic, a partition and an offset", |words| {
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    })
}
