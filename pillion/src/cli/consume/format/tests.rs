use bytes::Bytes;
use pillion_client::Header;
use pillion_wire::records::TimestampType;

use super::*;

fn record() -> ConsumedRecord {
    let header =
        |key: &str, value: Option<&'static [u8]>| Header { key: key.into(), value: value.map(Bytes::from_static) };
    ConsumedRecord {
        topic: "orders".into(),
        partition: 2,
        offset: 41,
        leader_epoch: 0,
        timestamp_ms: 1_700_000_000_000,
        timestamp_type: TimestampType::CreateTime,
        key: Some(Bytes::from_static(b"k\xff")),
        value: None,
        headers: vec![header("id", Some(b"7")), header("gone", None)],
    }
}

fn printed(format: &str) -> Vec<u8> {
    let mut out = Vec::new();
    format.parse::<Format>().unwrap().write(&mut out, &record()).unwrap();
    out
}

#[test]
fn every_directive_prints_its_part_with_bytes_unchanged() {
    assert_eq!(printed("%t-%p@%o %T\\t%h\\n"), b"orders-2@41 1700000000000\tid=7,gone=NULL\n");
    assert_eq!(printed("[%k|%K|%s|%S]%%\\\\\\r"), b"[k\xff|2||-1]%\\\r");
    assert_eq!(printed("\u{2192}"), "\u{2192}".as_bytes());
}

#[test]
fn an_unknown_directive_is_refused() {
    for format in ["%", "%q", "\\", "\\q"] {
        assert!(format.parse::<Format>().is_err(), "{format}");
    }
}

#[test]
fn json_keeps_headers_in_order_and_shows_bytes_that_are_no_text() {
    let value = json(&record());
    assert_eq!(value["key"], serde_json::json!({ "hex": "6bff" }));
    assert_eq!(value["value"], Value::Null);
    assert_eq!(value["headers"][0], serde_json::json!({ "key": "id", "value": "7" }));
    assert_eq!(value["headers"][1], serde_json::json!({ "key": "gone", "value": null }));
    assert_eq!((&value["offset"], &value["topic"]), (&Value::from(41), &Value::from("orders")));
}
