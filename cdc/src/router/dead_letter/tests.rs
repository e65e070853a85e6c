use bytes::Bytes;
use proptest::prelude::*;

use super::{DEAD_LETTER_VALUE_BYTES_MAX, Poison, PoisonContent};
use crate::lsn::Lsn;
use crate::pgoutput::{Cell, Column, Relation};
use crate::router::{OutboxEvent, Router, RouterOptions, TableLayout};

const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn router() -> Router {
    Router::new(RouterOptions::default()).unwrap()
}

fn layout(more: &[&str]) -> TableLayout {
    let names = ["id", "aggregatetype", "aggregateid", "type", "payload", "tracingspancontext"];
    let columns = names.iter().chain(more);
    let columns = columns.map(|name| Column { name: (*name).to_owned(), type_id: 25, type_modifier: -1 });
    let relation = Relation { id: 1, schema: "public".into(), name: "outbox".into(), columns: columns.collect() };
    router().layout(&relation).unwrap()
}

fn row(values: &[&[u8]]) -> Vec<Cell> {
    values.iter().map(|value| Cell::Text(Bytes::copy_from_slice(value))).collect()
}

fn dead_letter(reason: &str, content: PoisonContent<'_>) -> OutboxEvent {
    let poison = Poison {
        reason,
        table: "public.outbox",
        commit_lsn: Lsn::new(0x1A_2B3C),
        ordinal: 3,
        commit_time_ms: 7,
        content,
    };
    router().dead_letter("outbox.dead-letter", &poison)
}

fn text(bytes: Option<&Bytes>) -> &str {
    std::str::from_utf8(bytes.expect("there")).expect("UTF-8")
}

fn headers(event: &OutboxEvent) -> Vec<(String, String)> {
    let header = |header: &crate::router::Header| (header.key.to_string(), text(header.value.as_ref()).to_owned());
    event.record_headers().iter().map(header).collect()
}

#[test]
fn a_dead_letter_says_why_where_and_what() {
    let layout = layout(&["raw", "none"]);
    let mut row = row(&[b"1", b"no/topic", b"42", b"T", br#"{"a": "b"}"#, CONTEXT.as_bytes(), b"\\x00ff"]);
    row.push(Cell::Null);
    let event = dead_letter("no \"topic\"", PoisonContent::Row { layout: &layout, row: &row });
    assert_eq!((&*event.topic, event.partition, event.timestamp_ms), ("outbox.dead-letter", None, 7));
    assert_eq!(text(event.key.as_ref()), "42");
    assert_eq!(
        text(event.value.as_ref()),
        format!(
            r#"{{"reason":"no \"topic\"","table":"public.outbox","commitLsn":"0/1A2B3C","ordinal":3,"row":{{"id":"1","aggregatetype":"no/topic","aggregateid":"42","type":"T","payload":"{{\"a\": \"b\"}}","tracingspancontext":"{CONTEXT}","raw":"\\x00ff","none":null}}}}"#
        )
    );
    let expected = [
        ("traceparent", CONTEXT),
        ("id", "1"),
        ("pillion.dead-letter.reason", "no \"topic\""),
        ("pillion.dead-letter.table", "public.outbox"),
        ("pillion.dead-letter.lsn", "0/1A2B3C"),
        ("pillion.dead-letter.ordinal", "3"),
    ];
    assert_eq!(headers(&event), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    assert_eq!(event.id().map(|id| &id[..]), Some(&b"1"[..]));
}

#[test]
fn what_cannot_be_read_is_left_out_and_still_shown() {
    let layout = layout(&[]);
    let short = vec![Cell::Null, Cell::Text(Bytes::from_static(b"\xff\x01"))];
    let event = dead_letter("short", PoisonContent::Row { layout: &layout, row: &short });
    assert_eq!((event.key.clone(), event.id(), event.trace.clone()), (None, None, None));
    assert!(text(event.value.as_ref()).ends_with(r#""row":{"id":null,"aggregatetype":"\\xff01"}}"#));
    let more = row(&[&b"1"[..]; 7]);
    let event = dead_letter("long", PoisonContent::Row { layout: &layout, row: &more });
    assert!(text(event.value.as_ref()).ends_with(r#","column 7":"1"}}"#));
}

#[test]
fn emitted_messages_are_shown_as_such() {
    let content = Bytes::from_static(br#"{"id":"m1","aggregateid":9,"aggregatetype":"no/topic"}"#);
    let event = dead_letter("bad", PoisonContent::Message(&content));
    assert_eq!((text(event.id()), text(event.key.as_ref())), ("m1", "9"));
    let shown = r#""message":{"content":"{\"id\":\"m1\",\"aggregateid\":9,\"aggregatetype\":\"no/topic\"}"}}"#;
    assert!(text(event.value.as_ref()).ends_with(shown));
    let garbage = Bytes::from_static(b"\xff");
    let event = dead_letter("bad", PoisonContent::Message(&garbage));
    assert!(text(event.value.as_ref()).ends_with(r#""message":{"content":"\\xff"}}"#));
}

#[test]
fn long_values_are_cut_and_short_ones_kept() {
    let layout = layout(&["other"]);
    let (long, longer) = (vec![b'a'; 400_000], vec![b'\n'; 3_000_000]);
    let row = row(&[b"1", b"order", &long[..20_000], b"T", &longer, b"", &long]);
    let event = dead_letter(&"r".repeat(10_000), PoisonContent::Row { layout: &layout, row: &row });
    assert_eq!(event.key, None, "a key of 20 KB");
    let value: serde_json::Value = serde_json::from_str(text(event.value.as_ref())).unwrap();
    let length = event.value.as_ref().unwrap().len();
    assert!((400_000..=DEAD_LETTER_VALUE_BYTES_MAX).contains(&length), "{length}");
    assert_eq!(value["truncated"], serde_json::json!(["payload", "other"]));
    assert_eq!(value["row"]["aggregateid"].as_str().map(str::len), Some(20_000));
    assert!(value["row"]["payload"].as_str().unwrap().len() > 100_000);
    assert_eq!(value["reason"].as_str().map(str::len), Some(4096));
}

#[test]
fn more_column_names_than_fit_are_counted() {
    let names: Vec<String> = (0..1590).map(|number| format!("{number:04}{}", "\u{1}".repeat(59))).collect();
    let layout = layout(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let row = row(&vec![&b"\x01\x01\x01\x01\x01\x01\x01\x01"[..]; 1596]);
    let event = dead_letter("wide", PoisonContent::Row { layout: &layout, row: &row });
    let value: serde_json::Value = serde_json::from_str(text(event.value.as_ref())).unwrap();
    let shown = value["row"].as_object().unwrap().len();
    assert_eq!(value["truncated"], serde_json::json!([format!("{} more", 1596 - shown)]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_gives_one_that_fits_and_is_json(
        values in proptest::collection::vec((any::<u8>(), 0_usize..300_000), 0..6),
        reason in any::<String>(),
    ) {
        let layout = layout(&[]);
        let row: Vec<Cell> = values.into_iter().map(|(byte, length)| Cell::Text(vec![byte; length].into())).collect();
        let event = dead_letter(&reason, PoisonContent::Row { layout: &layout, row: &row });
        let value = event.value.unwrap();
        prop_assert!(value.len() <= DEAD_LETTER_VALUE_BYTES_MAX);
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&value).is_ok());
    }
}
