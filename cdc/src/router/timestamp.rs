//! Postgres' timestamp text (`datestyle` ISO, which the replication session sets) as numbers and as ISO 8601.

#[cfg(test)]
mod tests;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Microseconds since the Unix epoch of `2026-01-02 03:04:05.678901` or, with an offset, `…+01:30`. Without one it is
/// taken as UTC, as Debezium does. `None` for anything else, `infinity` and years before Christ included.
pub(super) fn unix_micros(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once(' ')?;
    let days = unix_days(date)?;
    let (clock, offset) = match clock.find(['+', '-']) {
        Some(at) => (&clock[..at], offset_seconds(&clock[at..])?),
        None => (clock, 0),
    };
    let micros = micros_of_day(clock)?;
    (days * 86_400 - offset).checked_mul(MICROS_PER_SECOND)?.checked_add(micros)
}

/// Days since 1970-01-01 of `2026-01-02`. `None` for anything else, `infinity` and years before Christ included.
pub(super) fn unix_days(text: &str) -> Option<i64> {
    let mut date = text.splitn(3, '-');
    let year = digits(date.next()?, 4..=7)?;
    let month = digits(date.next()?, 2..=2)?;
    let day = digits(date.next()?, 2..=2)?;
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| days_since_epoch(year, month, day))
}

/// Microseconds since midnight of `03:04:05.678901`.
pub(super) fn micros_of_day(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, fraction_micros(fraction)?),
        None => (text, 0),
    };
    Some(clock_seconds(clock)? * MICROS_PER_SECOND + fraction)
}

/// `2026-01-02T03:04:05.678901Z` of microseconds since the Unix epoch.
pub(super) fn iso_text(unix_micros: i64) -> String {
    let seconds = unix_micros.div_euclid(MICROS_PER_SECOND);
    let (year, month, day) = date_of(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let micros = unix_micros.rem_euclid(MICROS_PER_SECOND);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

fn clock_seconds(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':').map(|part| digits(part, 2..=2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // 24:00:00 and a leap second are valid for Postgres.
    (hour <= 24 && minute <= 59 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

fn fraction_micros(text: &str) -> Option<i64> {
    let scale = 10_i64.pow(6_u32.checked_sub(u32::try_from(text.len()).ok()?)?);
    Some(digits(text, 1..=6)? * scale)
}

/// `+HH`, `-HH:MM` or `+HH:MM:SS`.
fn offset_seconds(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in text.get(1..)?.splitn(3, ':') {
        seconds += digits(part, 2..=2)? * unit;
        unit /= 60;
    }
    Some(sign * seconds)
}

/// Days from 1970-01-01 in the proleptic Gregorian calendar; March is the year's first month, so that the leap day
/// is its last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_since_epoch`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}
