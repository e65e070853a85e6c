//! Times as people write and read them: RFC 3339, UTC where no zone is given.

use thiserror::Error;

const DAY_MS: i64 = 86_400_000;
/// The last millisecond of the year 9999: what lies further off is a number that somebody made up.
const LAST_MS: i64 = 253_402_300_799_999;

/// A text that is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "expected a time such as 2026-01-31, 2026-01-31T12:00:00 (UTC), 2026-01-31T12:00:00.5+02:00, or @ and milliseconds since 1970"
)]
pub(crate) struct TimeError;

/// Milliseconds since 1970 as a date and time of day in UTC; a number that is no such time as it is.
pub(crate) fn instant(timestamp: i64) -> String {
    if !(0..=LAST_MS).contains(&timestamp) {
        return timestamp.to_string();
    }
    let (year, month, day) = date(timestamp / DAY_MS);
    let of_day = timestamp % DAY_MS;
    let (hours, minutes, seconds) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", of_day % 1_000)
}

/// Reads a time: milliseconds since 1970.
///
/// # Errors
/// [`TimeError`].
pub(crate) fn milliseconds(text: &str) -> Result<i64, TimeError> {
    if let Some(number) = text.strip_prefix('@') {
        return number.parse().ok().filter(|ms| (0..=LAST_MS).contains(ms)).ok_or(TimeError);
    }
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, time),
        None => (text, "00:00"),
    };
    let (clock, zone_minutes) = zone(time)?;
    let ms = day_ms(day)? + clock_ms(clock)? - zone_minutes * 60_000;
    if (0..=LAST_MS).contains(&ms) { Ok(ms) } else { Err(TimeError) }
}

/// A time of day, and how many minutes its zone is ahead of UTC.
fn zone(time: &str) -> Result<(&str, i64), TimeError> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Ok((clock, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Ok((time, 0)) };
    let (clock, zone) = time.split_at(at);
    let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "00"));
    let minutes = digits(hours, 2, 0..=23)? * 60 + digits(minutes, 2, 0..=59)?;
    Ok((clock, if zone.starts_with('-') { -minutes } else { minutes }))
}

fn day_ms(text: &str) -> Result<i64, TimeError> {
    let mut parts = text.splitn(3, '-');
    let mut part = |length, range| digits(parts.next().ok_or(TimeError)?, length, range);
    let (year, month, day) = (part(4, 1970..=9999)?, part(2, 1..=12)?, part(2, 1..=31)?);
    let of_years: i64 = (1970..year).map(days_of_year).sum();
    let months = months(year);
    let of_months: i64 = months.iter().zip(1..month).map(|(days, _)| days).sum();
    let last = usize::try_from(month - 1).ok().and_then(|month| months.get(month)).ok_or(TimeError)?;
    if day > *last { Err(TimeError) } else { Ok((of_years + of_months + day - 1) * DAY_MS) }
}

fn clock_ms(text: &str) -> Result<i64, TimeError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = whole.splitn(3, ':');
    let mut part = |last| digits(parts.next().unwrap_or("00"), 2, 0..=last);
    let (hours, minutes, seconds) = (part(23)?, part(59)?, part(59)?);
    let is_fraction = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths = format!("{fraction:0<3}");
    let ms: i64 = thousandths.get(..3).and_then(|text| text.parse().ok()).filter(|_| is_fraction).ok_or(TimeError)?;
    Ok(((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms)
}

fn digits(text: &str, length: usize, range: std::ops::RangeInclusive<i64>) -> Result<i64, TimeError> {
    let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_number && range.contains(number));
    number.ok_or(TimeError)
}

/// Year, month and day of a day since 1970, by the Gregorian calendar.
fn date(mut day: i64) -> (i64, i64, i64) {
    let mut year = 1970;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    for days in months(year) {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (year, month, day + 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

fn months(year: i64) -> [i64; 12] {
    let february = if is_leap(year) { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

#[cfg(test)]
mod tests;
