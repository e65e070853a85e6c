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
    assert_eq!(printed("\\x00\\x1F\\xfe\\-%R"), b"\x00\x1f\xfe-\xff\xff\xff\xff");
}

/// Each of these was seen to be kcat's answer.
#[test]
fn escapes_are_read_as_kcat_reads_them() {
    for (format, expected) in [
        ("\\65|", &b"A|"[..]),
        ("\\101|", b"e|"),
        ("\\x4|", b"\x04|"),
        ("\\x414|", b"\x14|"),
        ("\\065x", b"5x"),
        ("\\9|", b"\x09|"),
        ("x\\qy", b"xqy"),
        ("x\\\\y", b"x\\y"),
    ] {
        assert_eq!(printed(format), expected, "{format}");
    }
}

#[test]
fn an_unknown_directive_is_refused() {
    for format in ["%", "%q", "\\", "\\x", "\\xgg"] {
        assert!(format.parse::<Format>().is_err(), "{format}");
    }
}
