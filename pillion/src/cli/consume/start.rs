//! Where reading begins, as given on the command line.

use std::str::FromStr;

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
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || "expected start, end, an offset, or -N for the last N".to_owned();
        match text {
            "start" | "beginning" | "earliest" => Ok(Self::Beginning),
            "end" | "latest" => Ok(Self::End),
            _ => match text.strip_prefix('-') {
                Some(count) => count.parse::<u32>().map(|count| Self::Last(count.into())).map_err(|_| wrong()),
                None => match text.parse::<i64>() {
                    Ok(offset) if offset >= 0 => Ok(Self::At(offset)),
                    _ => Err(wrong()),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests;
