//! Texts are cut at characters, numbers are left alone.

use super::*;

#[test]
fn texts_are_cut_at_a_character_and_nothing_else_is() {
    let mut attributes = [
        KeyValue::new("long", "añejo"),
        KeyValue::new("short", "añ"),
        KeyValue::new("number", 1_000_000),
        KeyValue::new("list", Value::Array(Array::String(vec!["abc".into(), "".into()]))),
    ];
    limit(&mut attributes, 2);
    let values = attributes.map(|attribute| attribute.value);
    let list = Value::Array(Array::String(vec!["ab".into(), "".into()]));
    assert_eq!(values, ["añ".into(), "añ".into(), Value::I64(1_000_000), list]);
}
