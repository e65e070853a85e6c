//! Spans of time as a person writes them: `7d`, `12h`, `30m`, `45s`.

use std::time::Duration;

/// Seconds of each unit, the longest first.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// Ten years: longer is a slip.
const LONGEST: Duration = Duration::from_secs(315_360_000);

/// Reads a whole number and its unit.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number and w, d, h, m or s, such as 7d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let span = count.checked_mul(seconds).map(Duration::from_secs).filter(|span| *span <= LONGEST);
    span.ok_or_else(|| "expected ten years at most".to_owned())
}

/// One or two units of it, such as `1h 5m`.
pub(super) fn text(span: Duration) -> String {
    let mut rest = span.as_secs();
    if rest == 0 {
        return if span.is_zero() { "0s".to_owned() } else { "under 1s".to_owned() };
    }
    let mut parts = Vec::new();
    for (unit, seconds) in UNITS {
        let count = rest / seconds;
        rest %= seconds;
        if count > 0 && parts.len() < 2 {
            parts.push(format!("{count}{unit}"));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_with_their_units() {
        for (written, seconds) in [("7d", 604_800), ("0s", 0), ("90m", 5_400), ("2w", 1_209_600)] {
            assert_eq!(parse(written), Ok(Duration::from_secs(seconds)));
        }
        for wrong in ["", "7", "d", "-1d", "1y", "1.5h", "99999999w", "é"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for (seconds, expected) in [(0, "0s"), (5_400, "1h 30m"), (604_805, "1w 5s"), (90_061, "1d 1h")] {
            assert_eq!(text(Duration::from_secs(seconds)), expected);
        }
        assert_eq!(text(Duration::from_millis(5)), "under 1s");
    }
}
