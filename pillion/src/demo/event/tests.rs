use std::time::Duration;

use bytes::Bytes;
use pillion_client::Header;
use pillion_wire::records::TimestampType;

use super::*;

fn record(headers: &[(&str, &str)]) -> ConsumedRecord {
    let header =
        |(key, value): &(&str, &str)| Header { key: (*key).into(), value: Some(Bytes::from((*value).to_owned())) };
    ConsumedRecord {
        topic: "outbox.event.order".into(),
        partition: 1,
        offset: 12,
        leader_epoch: 0,
        timestamp_ms: 5_000,
        timestamp_type: TimestampType::CreateTime,
        key: Some(Bytes::from_static(b"0198b5f2-2c1f-7c52-b3a2-0d9ad6c8a5d1")),
        value: None,
        headers: headers.iter().map(header).collect(),
    }
}

fn at(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms)
}

#[test]
fn a_record_tells_type_trace_and_time_since_its_commit() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let event = Event::of(&record(&[("type", "Old"), ("type", "OrderPlaced"), ("traceparent", trace)]), at(5_007));
    assert_eq!(event.event_type, "OrderPlaced", "the last header of a name wins");
    assert_eq!(event.trace_id.as_deref(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
    assert_eq!((event.committed_ms, event.since_commit_ms), (5_000, 7));
}

#[test]
fn a_record_without_headers_is_shown_all_the_same() {
    let event = Event::of(&record(&[("traceparent", "junk")]), at(5_000));
    assert_eq!((event.event_type.as_str(), event.trace_id.as_deref()), ("", None));
    assert!(event.line().ends_with(" -"));
}

#[test]
fn cells_stand_under_their_headings() {
    let line = Event::of(&record(&[("type", "StockUnavailable")]), at(5_123)).line();
    let heading = Event::heading();
    for (name, cell) in [("event", "StockUnavailable"), ("topic", "outbox.event.order"), ("key", "0198b5f2")] {
        assert_eq!(line.find(cell), heading.find(name), "{name}\n{heading}\n{line}");
    }
    for (name, cell) in [("part", "1"), ("offset", "12"), ("ms", "123")] {
        let end = heading.find(&format!(" {name} ")).unwrap() + name.len() + 1;
        assert!(line[..end].ends_with(&format!(" {cell}")), "{name}\n{heading}\n{line}");
    }
}
