//! `<base offset>.swapping`: which segments a compacted one takes the place of; ours alone, there for some milliseconds.
//!
//! ```text
//! 0            version
//! 2            entries
//! 42 3         base offset of a segment that goes, and what its transaction index will hold: the first one's name stays,
//! 107 0        with so many entries, the others go
//! ```

use super::{FormatError, text_checkpoint};

/// What of a log is replaced by one compacted segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SwapList {
    /// Base offsets of the segments replaced, ascending; the compacted one has the first.
    pub(crate) replaced: Vec<i64>,
    /// Entries in the compacted segment's transaction index; without any it has none.
    pub(crate) aborted: u32,
}

/// The file of it.
pub(crate) fn encode(list: &SwapList) -> String {
    let entry = |(place, base): (usize, &i64)| format!("{base} {}", if place == 0 { list.aborted } else { 0 });
    text_checkpoint::encode(&list.replaced.iter().enumerate().map(entry).collect::<Vec<_>>())
}

/// What a file says.
///
/// # Errors
/// [`FormatError`] naming the line.
pub(crate) fn decode(text: &str) -> Result<SwapList, FormatError> {
    let expected = "a base offset and a number of entries";
    let entries: Vec<(i64, u32)> = text_checkpoint::decode(text, expected, |words| {
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    })?;
    let ascends = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
    match entries.first() {
        Some((_, aborted)) if ascends => {
            Ok(SwapList { replaced: entries.iter().map(|(base, _)| *base).collect(), aborted: *aborted })
        }
        _ => Err(FormatError::Line { line: 3, expected: "base offsets that ascend" }),
    }
}
