use super::*;

#[test]
fn times_are_dates_in_utc() {
    for (timestamp, expected) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_700_000_000_007, "2023-11-14T22:13:20.007Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (-1, "-1"),
        (i64::MAX, "9223372036854775807"),
    ] {
        assert_eq!(time(timestamp), expected);
    }
}

#[test]
fn no_record_reaches_the_terminals_controls() {
    let record = RecordItem {
        offset: 3,
        timestamp: 0,
        sequence: -1,
        key: Some(b"\x1b[2J\"\n\xe2\x80\xae".to_vec()),
        value: Some(vec![0xff, 0x1b]),
        headers: vec![("a\x07b".to_owned(), None)],
    };
    let expected = r#"3  1970-01-01T00:00:00.000Z  key "\u{1b}[2J\"\n\u{202e}"  value 0xff1b  a\u{7}b=null"#;
    assert_eq!(record_line(&record), expected);
    assert_eq!(path(Path::new("orders\r-0/it's.log")), "orders\\r-0/it's.log");
}
