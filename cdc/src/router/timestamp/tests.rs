use proptest::prelude::*;

use super::{iso_text, unix_micros};

#[test]
fn postgres_text_is_read_as_utc_or_by_its_offset() {
    for (text, micros) in [
        ("1970-01-01 00:00:00", 0),
        ("2026-01-02 03:04:05.678901", 1_767_323_045_678_901),
        ("2026-01-02 03:04:05.678901+00", 1_767_323_045_678_901),
        ("2026-01-02 04:34:05.6+01:30", 1_767_323_045_600_000),
        ("2026-01-01 19:04:05-08", 1_767_323_045_000_000),
        ("2000-02-29 12:00:00", 951_825_600_000_000),
        ("1969-12-31 23:59:59.999999", -1),
        ("12026-01-02 00:00:00", 317_336_832_000_000_000),
    ] {
        assert_eq!(unix_micros(text), Some(micros), "{text}");
    }
}

#[test]
fn other_text_is_refused() {
    for text in [
        "",
        " ",
        "infinity",
        "-infinity",
        "2026-01-02",
        "2026-13-02 00:00:00",
        "2026-01-32 00:00:00",
        "2026-01-02 25:00:00",
        "2026-01-02 00:60:00",
        "2026-01-02 00:00:00.",
        "2026-01-02 00:00:00.1234567",
        "0044-03-15 00:00:00 BC",
        "2026-01-02 00:00:00+",
        "2026-01-02 00:00:00+1",
        "2026-01-02 00:00",
        "+026-01-02 00:00:00",
    ] {
        assert_eq!(unix_micros(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn iso_text_reads_back(micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000) {
        let text = iso_text(micros);
        let postgres = text.replace('T', " ").replace('Z', "+00");
        prop_assert_eq!(unix_micros(&postgres), Some(micros), "{}", text);
    }

    #[test]
    fn random_text_never_panics(text in "\\PC{0,40}", near in "[0-9]{0,7}-[0-9]{0,3}-[0-9]{0,3} [0-9:+.\\-]{0,24}") {
        let _ = (unix_micros(&text), unix_micros(&near));
    }
}
