use super::*;

#[test]
fn times_are_dates_in_utc_and_read_back_as_they_were() {
    for (timestamp, expected) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(instant(timestamp), expected);
        assert_eq!(milliseconds(expected), Ok(timestamp));
        assert_eq!(milliseconds(&format!("@{timestamp}")), Ok(timestamp));
    }
    assert_eq!((instant(-1), instant(i64::MAX)), ("-1".to_owned(), "9223372036854775807".to_owned()));
}

#[test]
fn a_time_may_leave_out_its_end_and_name_its_zone() {
    let noon = 1_769_860_800_000;
    for text in [
        "2026-01-31T12:00:00Z",
        "2026-01-31 12:00",
        "2026-01-31T12:00:00.000",
        "2026-01-31T14:00+02:00",
        "2026-01-31T06:30-05:30",
        "2026-01-31T13:00+01",
    ] {
        assert_eq!(milliseconds(text), Ok(noon), "{text}");
    }
    assert_eq!(milliseconds("2026-01-31"), Ok(noon - DAY_MS / 2));
    assert_eq!(milliseconds("2026-01-31T12:00:00.123456Z"), Ok(noon + 123));
}

#[test]
fn what_is_no_time_is_refused() {
    for text in [
        "",
        "now",
        "2026-02-29",
        "2026-13-01",
        "2026-1-1",
        "2026-01-01T25:00",
        "2026-01-01T00:00:00.",
        "@",
        "@-1",
        "1969-12-31",
    ] {
        assert_eq!(milliseconds(text), Err(TimeError), "{text}");
    }
}
