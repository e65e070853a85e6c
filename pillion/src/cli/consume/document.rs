//! A record as JSON, and spread out for a person.

use std::io::{self, Write};

use pillion_client::ConsumedRecord;
use serde_json::{Value, json};

use crate::cli::text::{escaped, instant, is_colour_wanted};

/// One record as JSON, which `pillion produce --json` reads. Bytes that are not UTF-8 become `{"hex": "…"}`; headers
/// keep their order and may repeat.
pub(crate) fn json(record: &ConsumedRecord) -> Value {
    let headers =
        record.headers.iter().map(|header| json!({ "key": &*header.key, "value": text(header.value.as_deref()) }));
    json!({
        "topic": &*record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "key": text(record.key.as_deref()),
        "value": text(record.value.as_deref()),
        "headers": headers.collect::<Vec<_>>(),
    })
}

fn text(bytes: Option<&[u8]>) -> Value {
    let Some(bytes) = bytes else { return Value::Null };
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "hex": hexadecimal(bytes) }),
    }
}

/// Writes a record over several lines: where it stands, its headers, and its value indented if it is JSON.
pub(crate) fn write_pretty(out: &mut impl Write, record: &ConsumedRecord) -> io::Result<()> {
    let (bold, plain) = if is_colour_wanted() { ("\u{1b}[1m", "\u{1b}[0m") } else { ("", "") };
    writeln!(
        out,
        "{bold}{}[{}] @ {}{plain}  {}  key {}",
        record.topic,
        record.partition,
        record.offset,
        instant(record.timestamp_ms),
        shown(record.key.as_deref())
    )?;
    for header in &record.headers {
        writeln!(out, "  {}: {}", escaped(&header.key), shown(header.value.as_deref()))?;
    }
    let parsed = record.value.as_deref().and_then(|value| serde_json::from_slice::<Value>(value).ok());
    match parsed.filter(|value| value.is_object() || value.is_array()) {
        Some(value) => {
            let indented = serde_json::to_string_pretty(&value).map_err(io::Error::from)?;
            indented.lines().try_for_each(|line| writeln!(out, "  {}", escaped(line)))?;
        }
        None => writeln!(out, "  {}", shown(record.value.as_deref()))?,
    }
    writeln!(out)
}

/// Text as it is but for what would reach the terminal's controls; other bytes in hexadecimal.
fn shown(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    match std::str::from_utf8(bytes) {
        Ok(text) => escaped(text),
        Err(_) => format!("0x{}", hexadecimal(bytes)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pillion_client::Header;
    use pillion_wire::records::TimestampType;

    use super::*;

    fn record(key: &'static [u8], value: &'static [u8]) -> ConsumedRecord {
        let header =
            |key: &str, value: Option<&'static [u8]>| Header { key: key.into(), value: value.map(Bytes::from_static) };
        ConsumedRecord {
            topic: "orders".into(),
            partition: 2,
            offset: 41,
            leader_epoch: 0,
            timestamp_ms: 1_700_000_000_000,
            timestamp_type: TimestampType::CreateTime,
            key: Some(Bytes::from_static(key)),
            value: Some(Bytes::from_static(value)),
            headers: vec![header("id", Some(b"7")), header("gone", None)],
        }
    }

    fn pretty(key: &'static [u8], value: &'static [u8]) -> String {
        let mut out = Vec::new();
        write_pretty(&mut out, &record(key, value)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_keeps_headers_in_order_and_shows_bytes_that_are_no_text() {
        let value = json(&record(b"k\xff", b"v"));
        assert_eq!(value["key"], serde_json::json!({ "hex": "6bff" }));
        assert_eq!(value["value"], Value::from("v"));
        assert_eq!(value["headers"][0], serde_json::json!({ "key": "id", "value": "7" }));
        assert_eq!(value["headers"][1], serde_json::json!({ "key": "gone", "value": null }));
        assert_eq!((&value["offset"], &value["topic"]), (&Value::from(41), &Value::from("orders")));
    }

    #[test]
    fn a_value_of_json_is_spread_out_and_no_bytes_reach_the_terminals_controls() {
        let text = pretty(b"42", br#"{"total":100}"#);
        let expected =
            "orders[2] @ 41  2023-11-14T22:13:20.000Z  key 42\n  id: 7\n  gone: null\n  {\n    \"total\": 100\n  }\n\n";
        assert_eq!(text, expected);
        assert!(
            pretty(b"a\x1b[2J", b"\xff").contains("key a\\u{1b}[2J\n") && pretty(b"", b"\xff").contains("  0xff\n")
        );
    }
}
