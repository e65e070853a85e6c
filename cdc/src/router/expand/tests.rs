//! Documents in, and what Debezium 3.6.1's JsonConverter (schemas off) was seen to write of them.

use proptest::prelude::*;

use super::{JsonNull, expand};
use crate::router::RouteError;

/// What Debezium leaves the string it is.
const UNCHANGED: Option<&str> = None;

fn ignore(text: &str) -> Option<String> {
    expand(text, JsonNull::Ignore).expect(text)
}

fn check(cases: &[(&str, Option<&str>)]) {
    for (text, expected) in cases {
        assert_eq!(ignore(text).as_deref(), *expected, "{text}");
    }
}

#[test]
fn objects_are_written_compact_in_their_order() {
    check(&[
        ("{}", Some("{}")),
        (r#"{"z":1,  "a":2}"#, Some(r#"{"z":1,"a":2}"#)),
        (r#"{"b": true, "c": false}"#, Some(r#"{"b":true,"c":false}"#)),
        (r#"{"schema": {"b": 2}, "payload": {"a": 1}}"#, Some(r#"{"schema":{"b":2},"payload":{"a":1}}"#)),
        (r#"{"a":1,"b":0,"a":2}"#, Some(r#"{"a":2,"b":0}"#)),
        (
            r#"{"1x": 5, "ü": 4, "a b": 2, "a-b": 6, "a.b": 1, "a/b": 7}"#,
            Some(r#"{"1x":5,"ü":4,"a b":2,"a-b":6,"a.b":1,"a/b":7}"#),
        ),
    ]);
}

#[test]
fn null_members_and_empty_arrays_are_gone() {
    let order = r#"{"note": null, "empty": [], "items": [{"qty": 1, "sku": "a"}], "total": 12.50, "orderId": 42}"#;
    check(&[
        (order, Some(r#"{"items":[{"qty":1,"sku":"a"}],"total":12.5,"orderId":42}"#)),
        (r#"{"a": {"b": null}}"#, Some(r#"{"a":{}}"#)),
        (r#"{"a": {"b": []}}"#, Some(r#"{"a":{}}"#)),
        (r#"{"x": {"y": {"z": [{"v": 1, "w": null}]}}}"#, Some(r#"{"x":{"y":{"z":[{"v":1}]}}}"#)),
        // Within an array they stay.
        (r#"{"l": [1, null, 2]}"#, Some(r#"{"l":[1,null,2]}"#)),
        (r#"{"l": [null, {"a": 1}]}"#, Some(r#"{"l":[null,{"a":1}]}"#)),
        (r#"{"l": [[1], []]}"#, Some(r#"{"l":[[1],[]]}"#)),
    ]);
}

#[test]
fn optional_bytes_keeps_nulls() {
    for (text, expected) in [
        (
            r#"{"note": null, "empty": [], "items": [{"qty": 1, "sku": "a"}], "total": 12.50, "orderId": 42}"#,
            r#"{"note":null,"items":[{"qty":1,"sku":"a"}],"total":12.5,"orderId":42}"#,
        ),
        (r#"{"a": {"b": null}}"#, r#"{"a":{"b":null}}"#),
        (r#"{"l": [null]}"#, r#"{"l":[null]}"#),
        (r#"{"l": [null, null]}"#, r#"{"l":[null,null]}"#),
        (r#"{"x": {"y": {"z": [{"v": 1, "w": null}]}}}"#, r#"{"x":{"y":{"z":[{"v":1,"w":null}]}}}"#),
        (r#"{"l": [{"a": null}, {"a": 1}]}"#, r#"{"l":[{"a":null},{"a":1}]}"#),
    ] {
        assert_eq!(expand(text, JsonNull::OptionalBytes).unwrap().as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn numbers_are_int32_int64_or_doubles() {
    check(&[
        (r#"{"j": -2147483649, "m": 2147483648}"#, Some(r#"{"j":-2147483649,"m":2147483648}"#)),
        (r#"{"m": -9223372036854775808}"#, Some(r#"{"m":-9223372036854775808}"#)),
        (r#"{"a":1.0e2}"#, Some(r#"{"a":100.0}"#)),
        (r#"{"l": [1.0, 2.5]}"#, Some(r#"{"l":[1.0,2.5]}"#)),
        (r#"{"l": [5000000000, 6000000000]}"#, Some(r#"{"l":[5000000000,6000000000]}"#)),
    ]);
}

#[test]
fn objects_of_one_array_have_the_members_of_all() {
    check(&[
        (r#"{"l": [{"a": 1}, {"b": 2}]}"#, Some(r#"{"l":[{"a":1,"b":null},{"a":null,"b":2}]}"#)),
        (r#"{"l": [{"a": null}, {"a": 1}]}"#, Some(r#"{"l":[{"a":null},{"a":1}]}"#)),
        (r#"{"l": [{"a": []}, {"a": [1]}]}"#, Some(r#"{"l":[{"a":[]},{"a":[1]}]}"#)),
        (r#"{"l": [{"p": {"q": 1}}, {"p": null}]}"#, Some(r#"{"l":[{"p":{"q":1}},{"p":null}]}"#)),
        (r#"{"l": [{"a": 1, "b": 2}, {"b": 3, "a": 4}]}"#, Some(r#"{"l":[{"a":1,"b":2},{"a":4,"b":3}]}"#)),
        // Theirs has the same members in an order of its own.
        (
            r#"{"l": [{"id": 1, "name": "x"}, {"id": 2, "name": null}, {"id": 3, "name": "y", "tag": "t"}]}"#,
            Some(
                r#"{"l":[{"id":1,"name":"x","tag":null},{"id":2,"name":null,"tag":null},{"id":3,"name":"y","tag":"t"}]}"#,
            ),
        ),
    ]);
}

#[test]
fn documents_without_a_schema_stay_a_string() {
    for text in [
        "[]",
        "[ ]",
        r#""text""#,
        "null",
        "5",
        "true",
        "",
        " ",
        "plain",
        r#" {"a":1}"#,
        "[null]",
        r#"[1, "a", null]"#,
        r#"{"l": [null]}"#,
        r#"{"l": [1, 2.5]}"#,
        r#"{"l": [1, "a"]}"#,
        r#"{"l": [1, 5000000000]}"#,
        r#"{"l": [[], [1]]}"#,
        r#"{"l": [[]]}"#,
        r#"{"": 3, "a": 1}"#,
    ] {
        assert_eq!(ignore(text).as_deref(), UNCHANGED, "{text}");
    }
}

#[test]
fn what_stops_debezium_or_loses_members_there_comes_out_whole() {
    check(&[
        // DataException: Invalid type for ARRAY: class java.lang.String
        ("[1, 2]", Some("[1,2]")),
        (r#"[{"a": 1}, {"b": 2}]"#, Some(r#"[{"a":1,"b":null},{"a":null,"b":2}]"#)),
        // DataException: Invalid type for STRUCT: class java.lang.String
        (r#"{"l": [{"a": 1}, {"a": "x"}]}"#, Some(r#"{"l":[{"a":1},{"a":"x"}]}"#)),
        (r#"{"l": [{"p": {"q": 1}}, {"p": 3}]}"#, Some(r#"{"l":[{"p":{"q":1}},{"p":3}]}"#)),
        (r#"{"l": [[1], ["a"]]}"#, Some(r#"{"l":[[1],["a"]]}"#)),
        (r#"{"l": [[1], [1, "a"]]}"#, Some(r#"{"l":[[1],[1,"a"]]}"#)),
        (r#"{"n": 9223372036854775808}"#, Some(r#"{"n":9223372036854775808}"#)),
        (r#"{"n": 123456789012345678901234567890}"#, Some(r#"{"n":1.2345678901234568E29}"#)),
        // {"l":[{"a":{"y":null}},{"a":{"y":2}}]} and {"l":[[{"a":1}],[{"a":null}]]} there.
        (
            r#"{"l": [{"a": {"x": 1}}, {"a": {"y": 2}}]}"#,
            Some(r#"{"l":[{"a":{"x":1,"y":null}},{"a":{"x":null,"y":2}}]}"#),
        ),
        (r#"{"l": [[{"a": 1}], [{"b": 2}]]}"#, Some(r#"{"l":[[{"a":1,"b":null}],[{"a":null,"b":2}]]}"#)),
    ]);
}

#[test]
fn what_begins_like_json_and_is_none_is_an_error() {
    let deep = "[".repeat(1000) + &"]".repeat(1000);
    for text in [
        r#"{"a":1} x"#,
        r#"{"a":1}{"b":2}"#,
        "{a:1}",
        r#"{"a":01}"#,
        r#"{"a":NaN}"#,
        r#"{"a":1,}"#,
        "[1,2",
        r#"{"b":1E400}"#,
        r#"{"a":"\ud800"}"#,
        deep.as_str(),
    ] {
        assert!(matches!(expand(text, JsonNull::Ignore), Err(RouteError::Json { .. })), "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_expanded_left_or_refused(text in "[\\[{][\\[\\]{}\":,0-9a-z. ]{0,40}") {
        if let Ok(Some(json)) = expand(&text, JsonNull::Ignore) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        }
    }
}
