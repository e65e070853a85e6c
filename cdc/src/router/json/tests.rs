use proptest::prelude::*;

use super::{double_text, float_text, push_string, push_string_cut, string_length};

fn string(text: &str) -> String {
    let mut json = String::new();
    push_string(&mut json, text);
    json
}

#[test]
fn strings_are_escaped_as_jackson_does() {
    // Seen from Debezium 3.6.1's JsonConverter.
    let text = "é € 😀 \" \\ / \u{8} \u{c} \n \r \t \u{1} \u{1f} \u{7f} \u{2028}";
    let expected = "\"é € \\uD83D\\uDE00 \\\" \\\\ / \\b \\f \\n \\r \\t \\u0001 \\u001F \u{7f} \u{2028}\"";
    assert_eq!(string(text), expected);
}

#[test]
fn numbers_look_as_java_prints_them() {
    for (number, text) in [
        (12.5, "12.5"),
        (100.0, "100.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.0123, "-0.0123"),
        (1_234_567.5, "1234567.5"),
        (9_999_999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (12_345_678_901_234.5, "1.23456789012345E13"),
        (1e16, "1.0E16"),
        (1e300, "1.0E300"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
    ] {
        assert_eq!(double_text(number), text);
    }
    assert_eq!(
        (float_text(1.5), float_text(0.1), float_text(f32::INFINITY)),
        ("1.5".into(), "0.1".into(), "Infinity".into())
    );
}

#[test]
fn a_cut_string_keeps_whole_characters_within_its_room() {
    let cut = |text, room| {
        let mut json = String::new();
        let is_cut = push_string_cut(&mut json, text, room);
        (json, is_cut)
    };
    assert_eq!(cut("ab", 2), ("\"ab\"".to_owned(), false));
    assert_eq!(cut("abc", 2), ("\"ab\"".to_owned(), true));
    assert_eq!(cut("aé", 2), ("\"a\"".to_owned(), true));
    assert_eq!(cut("a\nb", 3), ("\"a\\n\"".to_owned(), true));
    assert_eq!(cut("", 0), ("\"\"".to_owned(), false));
}

proptest! {
    #[test]
    fn every_string_is_read_back_as_it_was(text in any::<String>()) {
        let json = string(&text);
        prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text.clone());
        prop_assert_eq!(json.len(), string_length(&text) + 2);
    }

    #[test]
    fn every_number_is_read_back_as_it_was(number in any::<f64>().prop_filter("finite", |number| number.is_finite())) {
        prop_assert_eq!(double_text(number).parse::<f64>().unwrap(), number);
    }
}
