//! What Kafka's text checkpoints have in common.
//!
//! ```text
//! 0          version
//! 2          entries that follow
//! <entry>    numbers and words, a space between them
//! <entry>
//! ```
//!
//! Every line ends in a line feed. An empty file is read as one without entries, as Kafka reads it.

use super::FormatError;

const VERSION: i32 = 0;

/// The file with these entries, each a line without its end.
pub(super) fn encode(entries: &[String]) -> String {
    let mut text = format!("{VERSION}\n{}\n", entries.len());
    for entry in entries {
        text.push_str(entry);
        text.push('\n');
    }
    text
}

/// The entries of a file; `entry` reads one line's words, `expected` says what they should have been.
pub(super) fn decode<'a, T>(
    text: &'a str,
    expected: &'static str,
    entry: impl Fn(&mut dyn Iterator<Item = &'a str>) -> Option<T>,
) -> Result<Vec<T>, FormatError> {
    let mut lines = text.lines().zip(1_usize..);
    let Some((version, _)) = lines.next() else { return Ok(Vec::new()) };
    let wrong = |line, expected| FormatError::Line { line, expected };
    let found = version.trim().parse::<i32>().map_err(|_| wrong(1, "a version"))?;
    if found != VERSION {
        return Err(FormatError::Version { expected: VERSION, found });
    }
    let claimed = lines.next().and_then(|(count, _)| count.trim().parse::<u32>().ok());
    let claimed = claimed.ok_or(wrong(2, "the number of entries"))?;
    let mut entries = Vec::new();
    for (line, number) in lines {
        let mut words = line.split_whitespace();
        let read = entry(&mut words).filter(|_| words.next().is_none());
        entries.push(read.ok_or(wrong(number, expected))?);
    }
    if entries.len() as u64 != u64::from(claimed) {
        return Err(FormatError::Count { expected: claimed.into(), found: entries.len() });
    }
    Ok(entries)
}
