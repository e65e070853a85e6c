use super::*;

#[test]
fn names_offsets_and_counts_from_the_end_are_read() {
    let cases = [
        ("start", Ok(Start::Beginning)),
        ("beginning", Ok(Start::Beginning)),
        ("end", Ok(Start::End)),
        ("0", Ok(Start::At(0))),
        ("9223372036854775807", Ok(Start::At(i64::MAX))),
        ("-10", Ok(Start::Last(10))),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Start>(), expected, "{text}");
    }
    for text in ["", "-", "--1", "-1.5", "tomorrow", "9223372036854775808", "-99999999999"] {
        assert!(text.parse::<Start>().is_err(), "{text}");
    }
}
