//! Where reading begins and ends, as given on the command line.

use std::str::FromStr;

use pillion_client::Offset;

use crate::cli::text::milliseconds;

/// A place to begin, the same for every partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The log start offset.
    Beginning,
    /// Behind the last record.
    End,
    /// This offset.
    At(i64),
    /// So many before the end.
    Last(i64),
    /// The first record of this time or later, in milliseconds since 1970.
    Time(i64),
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || "expected start, end, an offset, -N for the last N, or a time such as 2026-01-31T12:00:00Z".to_owned();
        match text {
            "start" | "beginning" | "earliest" => Ok(Self::Beginning),
            "end" | "latest" => Ok(Self::End),
            _ => match text.strip_prefix('-') {
                Some(count) => count.parse::<u32>().map(|count| Self::Last(count.into())).map_err(|_| wrong()),
                None => match text.parse::<i64>() {
                    Ok(offset) if offset >= 0 => Ok(Self::At(offset)),
                    // kcat writes s@ and milliseconds.
                    _ => milliseconds(text.strip_prefix('s').unwrap_or(text)).map(Self::Time).map_err(|_| wrong()),
                },
            },
        }
    }
}

impl Start {
    /// The place in a partition, whose log starts and ends at these offsets. The end is the one that was asked for, so
    /// that nothing is missed between asking and reading.
    pub(super) fn offset(self, log_start: i64, end: i64) -> Offset {
        match self {
            Self::Beginning => Offset::Earliest,
            Self::End => Offset::At(end),
            Self::At(offset) => Offset::At(offset),
            Self::Last(count) => Offset::At((end - count).max(log_start)),
            Self::Time(ms) => Offset::Timestamp(ms),
        }
    }
}

/// A place to end before, the same for every partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Where the partition ended when the command began.
    End,
    /// This offset.
    At(i64),
    /// The first record of this time or later; the present end when there is none.
    Time(i64),
}

impl FromStr for Stop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "end" | "latest" => Ok(Self::End),
            _ => match text.parse::<i64>() {
                Ok(offset) if offset >= 0 => Ok(Self::At(offset)),
                _ => milliseconds(text.strip_prefix('e').unwrap_or(text))
                    .map(Self::Time)
                    .map_err(|_| "expected end, an offset, or a time such as 2026-01-31T12:00:00Z".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_begin_are_read() {
        for (text, start) in [
            ("start", Start::Beginning),
            ("beginning", Start::Beginning),
            ("end", Start::End),
            ("0", Start::At(0)),
            ("42", Start::At(42)),
            ("-10", Start::Last(10)),
            ("@7", Start::Time(7)),
            ("s@7", Start::Time(7)),
            ("1970-01-01T00:00:01Z", Start::Time(1_000)),
        ] {
            assert_eq!(text.parse(), Ok(start), "{text}");
        }
        for text in ["", "middle", "--1", "1.5", "-", "-x"] {
            assert!(text.parse::<Start>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_last_records_begin_no_earlier_than_the_log() {
        assert_eq!(Start::Last(3).offset(5, 10), Offset::At(7));
        assert_eq!(Start::Last(30).offset(5, 10), Offset::At(5));
        assert_eq!(Start::End.offset(5, 10), Offset::At(10));
    }

    #[test]
    fn places_to_end_are_read() {
        for (text, stop) in [("end", Stop::End), ("9", Stop::At(9)), ("e@9", Stop::Time(9)), ("@9", Stop::Time(9))] {
            assert_eq!(text.parse(), Ok(stop), "{text}");
        }
        assert!("start".parse::<Stop>().is_err() && "-1".parse::<Stop>().is_err());
    }
}
