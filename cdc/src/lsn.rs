//! A position in Postgres' write-ahead log, printed and read as Postgres does: `16/B374D848`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Log sequence number: a byte position in the write-ahead log. Zero means "no position", as `pg_lsn` has it.
///
/// Its text is two hexadecimal halves of at most eight digits, `X/Y` (PostgreSQL documentation, 8.20 `pg_lsn` type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(u64);

/// A text that is not an LSN.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not an LSN: expected two hexadecimal numbers like 16/B374D848")]
pub struct ParseLsnError {
    text: String,
}

impl Lsn {
    /// No position: a replication session that starts here starts at the slot's confirmed position.
    pub const ZERO: Lsn = Lsn(0);

    /// The position at byte `value` of the log.
    pub const fn new(value: u64) -> Lsn {
        Lsn(value)
    }

    /// The byte position.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Bytes of log from `earlier` to here; 0 when `earlier` is not earlier.
    pub const fn bytes_since(self, earlier: Lsn) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

impl FromStr for Lsn {
    type Err = ParseLsnError;

    fn from_str(text: &str) -> Result<Lsn, ParseLsnError> {
        let half = |digits: &str| {
            // from_str_radix would take a sign.
            let plain = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        text.split_once('/')
            .and_then(|(high, low)| Some(Lsn(half(high)? << 32 | half(low)?)))
            // The text may come from outside: no more than a line of it is echoed.
            .ok_or_else(|| ParseLsnError { text: text.chars().take(40).collect() })
    }
}
