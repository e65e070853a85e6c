//! Rows in, records out, against what Debezium's router was seen to produce.

mod any_input;
mod golden;

use bytes::Bytes;

use super::{Header, LayoutError, OutboxEvent, RouteError, Router, RouterOptions};
use crate::pgoutput::{Cell, Column, Relation};

const COMMIT_TIME_MS: i64 = 1_796_007_975_012;
const CONTEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const ID: &str = "11111111-1111-1111-1111-111111111111";

const UUID: u32 = 2950;
const VARCHAR: u32 = 1043;
const TEXT: u32 = 25;
const JSONB: u32 = 3802;
const BYTEA: u32 = 17;
const INTEGER: u32 = 23;
const BIGINT: u32 = 20;
const BOOLEAN: u32 = 16;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;

/// A row of Debezium's default table; further columns behind.
struct Table {
    columns: Vec<(&'static str, u32, Option<&'static str>)>,
    modifiers: Vec<(&'static str, i32)>,
}

impl Table {
    fn new() -> Table {
        Table {
            columns: vec![
                ("id", UUID, Some(ID)),
                ("aggregatetype", VARCHAR, Some("order")),
                ("aggregateid", VARCHAR, Some("42")),
                ("type", VARCHAR, Some("OrderCreated")),
                ("payload", JSONB, Some(r#"{"a": 1}"#)),
                ("tracingspancontext", TEXT, None),
            ],
            modifiers: Vec::new(),
        }
    }

    fn with(mut self, name: &'static str, type_id: u32, value: Option<&'static str>) -> Table {
        match self.columns.iter_mut().find(|column| column.0 == name) {
            Some(column) => *column = (name, type_id, value),
            None => self.columns.push((name, type_id, value)),
        }
        self
    }

    /// `timestamp(3)` and its like.
    fn with_modifier(mut self, name: &'static str, modifier: i32) -> Table {
        self.modifiers.push((name, modifier));
        self
    }

    fn without(mut self, name: &str) -> Table {
        self.columns.retain(|column| column.0 != name);
        self
    }

    fn relation(&self) -> Relation {
        let columns = self.columns.iter().map(|(name, type_id, _)| {
            let modifier = self.modifiers.iter().find(|(modified, _)| modified == name);
            let type_modifier = modifier.map_or(-1, |(_, modifier)| *modifier);
            Column { name: (*name).to_owned(), type_id: *type_id, type_modifier }
        });
        Relation { id: 1, schema: "public".to_owned(), name: "outbox".to_owned(), columns: columns.collect() }
    }

    fn row(&self) -> Vec<Cell> {
        let cell = |text: Option<&'static str>| text.map_or(Cell::Null, |text| Cell::Text(text.into()));
        self.columns.iter().map(|column| cell(column.2)).collect()
    }

    fn route(&self, options: &[(&str, &str)]) -> Result<OutboxEvent, RouteError> {
        let router = router(options);
        let layout = router.layout(&self.relation()).expect("every column is there");
        router.route(&layout, &self.row(), COMMIT_TIME_MS)
    }
}

fn router(options: &[(&str, &str)]) -> Router {
    let mut typed = RouterOptions::default();
    for (name, value) in options {
        typed.set(name, value).expect(name);
    }
    Router::new(typed).expect("options that fit together")
}

fn header(key: &str, value: &str) -> Header {
    Header { key: key.into(), value: Some(Bytes::copy_from_slice(value.as_bytes())) }
}

fn bytes(text: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(text.as_bytes()))
}

#[test]
fn default_options_make_debeziums_record_and_a_type_header() {
    let payload = r#"{"note": null, "empty": [], "items": [{"qty": 1, "sku": "a"}], "total": 12.50, "orderId": 42}"#;
    let event = Table::new().with("payload", JSONB, Some(payload)).route(&[]).unwrap();
    assert_eq!(
        event,
        OutboxEvent {
            topic: "outbox.event.order".into(),
            partition: None,
            key: bytes("42"),
            value: bytes(payload),
            headers: vec![header("id", ID), header("type", "OrderCreated")],
            trace: None,
            timestamp_ms: COMMIT_TIME_MS,
        }
    );
    assert_eq!(event.id(), bytes(ID).as_ref());
}

#[test]
fn trace_headers_come_before_the_id() {
    let names = |context| {
        let event = Table::new().with("tracingspancontext", TEXT, Some(context)).route(&[]).unwrap();
        event.record_headers()
    };
    let rest = [header("id", ID), header("type", "OrderCreated")];
    assert_eq!(names(CONTEXT), [&[header("traceparent", CONTEXT)], &rest[..]].concat());
    let properties = "#comment\ntraceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\ntracestate=vendor=1\nbaggage=k=v\n";
    let expected = [header("traceparent", CONTEXT), header("tracestate", "vendor=1"), header("baggage", "k=v")];
    assert_eq!(names(properties), [&expected[..], &rest[..]].concat());
    assert_eq!(names("traceparent=garbage"), rest);
}

#[test]
fn a_table_without_a_tracing_column_has_no_trace() {
    assert_eq!(Table::new().without("tracingspancontext").route(&[]).unwrap().trace, None);
}

#[test]
fn additional_fields_go_where_they_are_placed_in_their_order() {
    let placed =
        |placement, table: Table| table.route(&[("table.fields.additional.placement", placement)]).expect(placement);
    let headers = |placement, table| placed(placement, table).headers;
    assert_eq!(headers("", Table::new()), [header("id", ID)], "an empty placement is Debezium's default");
    assert_eq!(headers("type:header:eventType", Table::new()), [header("id", ID), header("eventType", "OrderCreated")]);
    let tenant = Table::new().with("tenant", TEXT, None);
    assert_eq!(headers("tenant:header", tenant), [header("id", ID), Header { key: "tenant".into(), value: None }]);
    let at = || {
        Table::new()
            .with("zoned", TIMESTAMPTZ, Some("2026-01-02 03:04:05.678901+00"))
            .with("plain", TIMESTAMP, Some("2026-01-02 03:04:05.678901"))
            .with("paid", BOOLEAN, Some("t"))
    };
    assert_eq!(
        headers("zoned:header,plain:header,paid:header", at())[1..],
        [header("zoned", "2026-01-02T03:04:05.678901Z"), header("plain", "1767323045678901"), header("paid", "true")]
    );
    let part = |value| placed("part:partition", Table::new().with("part", INTEGER, value)).partition;
    assert_eq!((part(Some("3")), part(None)), (Some(3), None));
}

#[test]
fn envelope_keeps_the_payload_a_string() {
    let value = |placement, table: Table| {
        let event = table.route(&[("table.fields.additional.placement", placement)]).expect(placement);
        String::from_utf8(event.value.expect("a value").to_vec()).expect("UTF-8")
    };
    let table = || Table::new().with("tenant", TEXT, Some("ac\"me")).with("level", INTEGER, Some("3"));
    assert_eq!(value("tenant:envelope", table()), r#"{"payload":"{\"a\": 1}","tenant":"ac\"me"}"#);
    assert_eq!(value("type:envelope:kind", table()), r#"{"payload":"{\"a\": 1}","kind":"OrderCreated"}"#);
    assert_eq!(
        value("level:envelope,tenant:envelope", table().with("payload", JSONB, None).with("tenant", TEXT, None)),
        r#"{"payload":null,"level":3,"tenant":null}"#
    );
}

#[test]
fn topics_are_named_by_field_regex_and_replacement() {
    let topic = |options: &[(&str, &str)]| Table::new().route(options).expect("a topic").topic.to_string();
    assert_eq!(topic(&[("route.by.field", "type")]), "outbox.event.OrderCreated");
    assert_eq!(topic(&[("route.topic.replacement", "events.${routedByValue}.v1")]), "events.order.v1");
    assert_eq!(topic(&[("route.topic.regex", "(.)(.*)"), ("route.topic.replacement", "$1-$2-x")]), "o-rder-x");
}

#[test]
fn empty_payloads_are_tombstones_only_where_debezium_makes_them() {
    let tombstone: &[(&str, &str)] = &[("route.tombstone.on.empty.payload", "true")];
    let value =
        |type_id, payload, options| Table::new().with("payload", type_id, payload).route(options).unwrap().value;
    assert_eq!(value(JSONB, None, &[]), None);
    assert_eq!(value(JSONB, None, tombstone), None);
    assert_eq!(value(TEXT, Some(""), tombstone), None);
    assert_eq!(value(TEXT, Some(""), &[]), bytes(""));
    for text in ["{}", "[]", "null"] {
        assert_eq!(value(JSONB, Some(text), tombstone), bytes(text), "{text}");
    }
}

#[test]
fn other_column_types_are_passed_on_as_they_are() {
    let value = |type_id, payload| Table::new().with("payload", type_id, Some(payload)).route(&[]).unwrap().value;
    assert_eq!(value(TEXT, r#"{"z":1,  "a":2}"#), bytes(r#"{"z":1,  "a":2}"#));
    assert_eq!(value(BYTEA, r"\x00ff7b7d"), Some(Bytes::from_static(b"\x00\xff{}")));
    assert_eq!(value(BYTEA, r"\x"), bytes(""));
    let table = Table::new().with("id", BIGINT, Some("7")).with("aggregateid", UUID, Some(ID));
    let event = table.route(&[]).unwrap();
    assert_eq!((event.key.as_ref(), event.headers[0].clone()), (bytes(ID).as_ref(), header("id", "7")));
    let key = |value| Table::new().with("aggregateid", VARCHAR, value).route(&[]).unwrap().key;
    assert_eq!((key(Some("")), key(None)), (bytes(""), None));
}

#[test]
fn timestamp_column_replaces_the_commit_time() {
    let at = |type_id, value| {
        Table::new()
            .with("at", type_id, value)
            .route(&[("table.field.event.timestamp", "at")])
            .map(|event| event.timestamp_ms)
    };
    assert_eq!(at(TIMESTAMP, Some("2026-01-02 03:04:05.678901")), Ok(1_767_323_045_678));
    assert_eq!(at(TIMESTAMPTZ, Some("2026-01-02 03:04:05.678901+00")), Ok(1_767_323_045_678));
    assert_eq!(at(BIGINT, Some("1767323045678")), Ok(1_767_323_045_678));
    assert_eq!(at(TIMESTAMP, None), Ok(COMMIT_TIME_MS));
    assert!(matches!(at(TIMESTAMP, Some("infinity")), Err(RouteError::Timestamp { .. })));
}

#[test]
fn rows_no_record_can_be_made_of_say_why() {
    let error = |table: Table, options| table.route(options).expect_err("a poison row");
    assert!(matches!(
        error(Table::new().with("aggregatetype", VARCHAR, Some("Order Line/ü")), &[]),
        RouteError::IllegalTopic { topic } if topic == "outbox.event.Order Line/ü"
    ));
    assert_eq!(error(Table::new().with("aggregatetype", VARCHAR, None), &[]), RouteError::NoRoute);
    assert_eq!(error(Table::new().with("id", UUID, None), &[]), RouteError::NoId);
    assert_eq!(error(Table::new().with("payload", BYTEA, Some("plain")), &[]), RouteError::Bytea);
    for part in ["-1", "x", "2147483648", ""] {
        let table = Table::new().with("part", TEXT, Some(part));
        assert!(matches!(
            error(table, &[("table.fields.additional.placement", "part:partition")]),
            RouteError::Partition { .. }
        ));
    }
}

#[test]
fn a_missing_column_is_named_with_its_option() {
    let layout = |table: Table, options| router(options).layout(&table.relation());
    assert_eq!(
        layout(Table::new().without("aggregateid"), &[]),
        Err(LayoutError {
            table: "public.outbox".to_owned(),
            column: "aggregateid".to_owned(),
            option: "table.field.event.key"
        })
    );
    let nope: &[(&str, &str)] = &[("table.fields.additional.placement", "nope:header")];
    assert_eq!(layout(Table::new(), nope).unwrap_err().option, "table.fields.additional.placement");
    let lenient = [nope[0], ("table.fields.additional.error.on.missing", "false")];
    assert!(layout(Table::new(), &lenient).is_ok());
}

#[test]
fn a_row_that_does_not_fit_its_table_is_refused() {
    let table = Table::new();
    let router = router(&[]);
    let layout = router.layout(&table.relation()).unwrap();
    let mut row = table.row();
    row.pop();
    assert_eq!(router.route(&layout, &row, 0), Err(RouteError::ColumnCount { expected: 6, found: 5 }));
    let mut row = table.row();
    row[4] = Cell::Unchanged;
    assert_eq!(router.route(&layout, &row, 0), Err(RouteError::NotText { column: 4 }));
}

#[test]
fn emitted_json_routes_like_a_row() {
    let content = Bytes::from_static(
        br#"{"id":"1","aggregatetype":"order","aggregateid":7,"type":"Paid","payload":{"z": 1.50,  "a":[]}}"#,
    );
    let event = router(&[]).route_emitted(&content, 5).unwrap();
    assert_eq!(&*event.topic, "outbox.event.order");
    assert_eq!(
        (event.key.as_ref(), event.value.as_ref()),
        (bytes("7").as_ref(), bytes(r#"{"z": 1.50,  "a":[]}"#).as_ref())
    );
    assert_eq!(event.headers, [header("id", "1"), header("type", "Paid")]);
    assert_eq!(event.timestamp_ms, 5);
}

#[test]
fn emitted_content_that_is_no_outbox_row_is_refused() {
    let error = |content: &'static str, options| {
        router(options).route_emitted(&Bytes::from_static(content.as_bytes()), 0).expect_err(content)
    };
    for content in ["", "[]", "1", "{", "\u{1}"] {
        assert!(matches!(error(content, &[]), RouteError::Message { .. }), "{content}");
    }
    assert_eq!(error(r#"{"id":"1"}"#, &[]), RouteError::NoRoute);
    assert_eq!(
        error(r#"{"id":"1","aggregatetype":"a"}"#, &[("table.fields.additional.placement", "tenant:header")]),
        RouteError::MissingMember { name: "tenant".to_owned() }
    );
}
