use super::*;

#[test]
fn text_is_text_and_anything_else_is_hexadecimal() {
    assert_eq!(bytes(None, 10), Value::Null);
    assert_eq!(bytes(Some(b""), 10), json!({ "text": "", "bytes": 0, "cut": false }));
    assert_eq!(bytes(Some("grün".as_bytes()), 10), json!({ "text": "grün", "bytes": 5, "cut": false }));
    assert_eq!(bytes(Some(&[0xff, 0]), 10), json!({ "hex": "ff00", "bytes": 2, "cut": false }));
    assert_eq!(bytes(Some(&[b'a', 0]), 10), json!({ "hex": "6100", "bytes": 2, "cut": false }));
}

#[test]
fn what_is_long_is_cut_between_characters() {
    let text = "ü".repeat(10);
    assert_eq!(bytes(Some(text.as_bytes()), 5), json!({ "text": "üü", "bytes": 20, "cut": true }));
    assert_eq!(bytes(Some(&[0xff; 20]), 10), json!({ "hex": "ff".repeat(5), "bytes": 20, "cut": true }));
}

#[test]
fn a_trace_is_known_by_its_header() {
    let header = |key: &str, value: &str| Header { key: key.into(), value: Some(bytes::Bytes::from(value.to_owned())) };
    let id = "4bf92f3577b34da6a3ce929d0e0e4736";
    let whole = format!("00-{id}-00f067aa0ba902b7-01");
    assert_eq!(trace_id(&header("traceparent", &whole)).as_deref(), Some(id));
    assert_eq!(trace_id(&header("tracestate", &whole)), None);
    for text in ["", "00", "00-xyz-1-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"] {
        assert_eq!(trace_id(&header("traceparent", text)), None, "{text}");
    }
}
