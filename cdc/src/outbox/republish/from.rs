//! Where publishing again begins, as a person says it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::lsn::Lsn;

/// The first row that is published again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepublishFrom {
    /// What was committed at or after this position.
    Lsn(Lsn),
    /// What was written at or after this time, as Postgres reads a `timestamptz`.
    Time(String),
    /// This event, by its id's text.
    Id(String),
}

/// A text that is none of them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected a position (16/B374D848), a time (2026-01-31T12:00:00Z), or an event's id")]
pub struct FromError;

impl FromStr for RepublishFrom {
    type Err = FromError;

    fn from_str(text: &str) -> Result<RepublishFrom, FromError> {
        let text = text.trim();
        if text.is_empty() || text.contains('\0') {
            return Err(FromError);
        }
        if let Ok(lsn) = text.parse() {
            return Ok(RepublishFrom::Lsn(lsn));
        }
        // A date begins with four digits and a dash; an id that does too is not a UUID.
        let bytes = text.as_bytes();
        let is_time =
            bytes.len() >= 10 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-' && bytes[7] == b'-';
        Ok(if is_time { RepublishFrom::Time(text.to_owned()) } else { RepublishFrom::Id(text.to_owned()) })
    }
}

impl fmt::Display for RepublishFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RepublishFrom::Lsn(lsn) => write!(f, "position {lsn}"),
            RepublishFrom::Time(time) => write!(f, "{time}"),
            RepublishFrom::Id(id) => write!(f, "event {id}"),
        }
    }
}
