//! Row by row against what Debezium 3.6.1's router was seen to emit (PostgreSQL 18.6, pgoutput): keys through
//! StringConverter, headers through SimpleHeaderConverter, values through StringConverter or, where the option makes
//! JSON of them, JsonConverter with schemas off. Cases that differ on purpose say so in their name.

use super::*;

const SMALLINT: u32 = 21;
const REAL: u32 = 700;
const DOUBLE: u32 = 701;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const NUMERIC: u32 = 1700;
const CHAR: u32 = 1042;
const JSON: u32 = 114;
const INET: u32 = 869;
const INTEGER_ARRAY: u32 = 1007;
const TEXT_ARRAY: u32 = 1009;

/// A column of each type, what Postgres prints, what Debezium makes of it in a header and in an envelope.
const TYPES: &[(u32, i32, &str, &str, &str)] = &[
    (UUID, -1, ID, ID, r#""11111111-1111-1111-1111-111111111111""#),
    (TEXT, -1, "te\"xt", "te\"xt", r#""te\"xt""#),
    (TEXT, -1, "", "", r#""""#),
    (VARCHAR, 24, "vc", "vc", r#""vc""#),
    (CHAR, 9, "ch   ", "ch   ", r#""ch   ""#),
    (JSON, -1, r#"{"z":1,  "a":2}"#, r#"{"z":1,  "a":2}"#, r#""{\"z\":1,  \"a\":2}""#),
    (JSONB, -1, r#"{"a": 2, "z": 1}"#, r#"{"a": 2, "z": 1}"#, r#""{\"a\": 2, \"z\": 1}""#),
    (BYTEA, -1, r"\x00ff7b7d", "AP97fQ==", r#""AP97fQ==""#),
    (BYTEA, -1, r"\x", "", r#""""#),
    (INTEGER, -1, "-7", "-7", "-7"),
    (BIGINT, -1, "9007199254740993", "9007199254740993", "9007199254740993"),
    (SMALLINT, -1, "3", "3", "3"),
    (BOOLEAN, -1, "t", "true", "true"),
    (BOOLEAN, -1, "f", "false", "false"),
    (TIMESTAMP, -1, "2026-01-02 03:04:05.678901", "1767323045678901", "1767323045678901"),
    (TIMESTAMP, 6, "2026-01-02 03:04:05", "1767323045000000", "1767323045000000"),
    (TIMESTAMP, -1, "1960-01-02 03:04:05.678901", "-315521754321099", "-315521754321099"),
    (TIMESTAMP, 3, "2026-01-02 03:04:05.678", "1767323045678", "1767323045678"),
    (
        TIMESTAMPTZ,
        -1,
        "2026-01-02 02:04:05.678901+00",
        "2026-01-02T02:04:05.678901Z",
        r#""2026-01-02T02:04:05.678901Z""#,
    ),
    (TIMESTAMPTZ, -1, "1960-01-02 03:04:05.5+00", "1960-01-02T03:04:05.500000Z", r#""1960-01-02T03:04:05.500000Z""#),
    (TIMESTAMPTZ, -1, "infinity", "infinity", r#""infinity""#),
    (DATE, -1, "2026-01-02", "20455", "20455"),
    (DATE, -1, "1969-12-31", "-1", "-1"),
    (TIME, -1, "03:04:05.5", "11045500000", "11045500000"),
    (TIME, -1, "00:00:00", "0", "0"),
    (REAL, -1, "1.5", "1.5", "1.5"),
    (REAL, -1, "0.1", "0.1", "0.1"),
    (REAL, -1, "NaN", "NaN", r#""NaN""#),
    (REAL, -1, "Infinity", "Infinity", r#""Infinity""#),
    (DOUBLE, -1, "12345678901234.5", "1.23456789012345E13", "1.23456789012345E13"),
    (DOUBLE, -1, "1e+300", "1.0E300", "1.0E300"),
    (DOUBLE, -1, "1e+16", "1.0E16", "1.0E16"),
    (INET, -1, "10.0.0.1/24", "10.0.0.1/24", r#""10.0.0.1/24""#),
];

fn typed((type_id, modifier, text, ..): (u32, i32, &'static str, &str, &str)) -> Table {
    Table::new().with("column", type_id, Some(text)).with_modifier("column", modifier)
}

fn value(table: Table, options: &[(&str, &str)]) -> Option<String> {
    let value = table.route(options).expect("a record").value?;
    Some(String::from_utf8(value.to_vec()).expect("UTF-8"))
}

#[test]
fn each_type_in_a_header() {
    for case in TYPES {
        let event = typed(*case).route(&[("table.fields.additional.placement", "column:header")]).expect(case.2);
        assert_eq!(event.headers[1], header("column", case.3), "{case:?}");
    }
}

#[test]
fn each_type_in_an_envelope() {
    for case in TYPES {
        let options = [("table.fields.additional.placement", "column:envelope:c")];
        let expected = format!(r#"{{"payload":"{{\"a\": 1}}","c":{}}}"#, case.4);
        assert_eq!(value(typed(*case), &options), Some(expected), "{case:?}");
    }
}

#[test]
fn each_type_in_a_key_and_bytea_there_as_its_bytes() {
    for case in TYPES.iter().filter(|case| case.0 != BYTEA) {
        let event = typed(*case).route(&[("table.field.event.key", "column")]).expect(case.2);
        assert_eq!(event.key, Some(Bytes::from_static(case.3.as_bytes())), "{case:?}");
    }
    let case = (BYTEA, -1, r"\x00ff7b7d", "java.nio.HeapByteBuffer[pos=0 lim=4 cap=4]", "");
    let event = typed(case).route(&[("table.field.event.key", "column")]).unwrap();
    assert_eq!(event.key, Some(Bytes::from_static(b"\x00\xff{}")));
}

#[test]
fn arrays_and_numeric_differ_and_are_postgres_text() {
    // [1,2,null], ["a","b c",null], {"scale":1,"value":"fQ=="} and, in an envelope, the base64 BOI= there.
    for (type_id, text) in
        [(INTEGER_ARRAY, "{1,2,NULL}"), (TEXT_ARRAY, r#"{a,"b c",NULL}"#), (NUMERIC, "12.50"), (NUMERIC, "NaN")]
    {
        let placed = Table::new().with("column", type_id, Some(text));
        let event = placed.route(&[("table.fields.additional.placement", "column:header,column:envelope")]).unwrap();
        assert_eq!(event.headers[1], header("column", text));
        let value: serde_json::Value = serde_json::from_slice(&event.value.unwrap()).unwrap();
        assert_eq!(value["column"], serde_json::json!(text));
    }
}

#[test]
fn placements_in_their_order_with_aliases_and_nulls() {
    let table =
        || Table::new().with("tenant", TEXT, Some("acme")).with("part", INTEGER, Some("3")).with("n", TEXT, None);
    let options = [(
        "table.fields.additional.placement",
        "tenant:header:t,type:envelope:kind,part:partition,n:header,n:envelope,tenant:envelope",
    )];
    let event = table().route(&options).unwrap();
    assert_eq!(event.partition, Some(3));
    let null = Header { key: "n".into(), value: None };
    assert_eq!(event.headers, [header("id", ID), header("t", "acme"), null]);
    assert_eq!(
        value(table(), &options).as_deref(),
        Some(r#"{"payload":"{\"a\": 1}","kind":"OrderCreated","n":null,"tenant":"acme"}"#)
    );
}

#[test]
fn missing_additional_columns_are_left_out_on_request() {
    let options = [
        ("table.fields.additional.placement", "nope:header,nope2:envelope,type:header"),
        ("table.field.additional.missing", "ignore"),
    ];
    let event = Table::new().route(&options).unwrap();
    assert_eq!(event.headers, [header("id", ID), header("type", "OrderCreated")]);
    assert_eq!(event.value, bytes(r#"{"payload":"{\"a\": 1}"}"#), "still an envelope");
}

#[test]
fn expanded_payloads() {
    let expand = ("table.expand.json.payload", "true");
    let payload = |type_id, text| Table::new().with("payload", type_id, text);
    let order = r#"{"note": null, "empty": [], "items": [{"qty": 1, "sku": "a"}], "total": 12.50, "orderId": 42}"#;
    for (type_id, text, expected) in [
        (JSONB, Some(order), r#"{"items":[{"qty":1,"sku":"a"}],"total":12.5,"orderId":42}"#),
        (JSONB, Some("{}"), "{}"),
        (JSONB, Some("[]"), r#""[]""#),
        (JSONB, Some(r#""text""#), r#""\"text\"""#),
        (JSONB, Some(r#"{"l": [1, "a"]}"#), r#""{\"l\": [1, \"a\"]}""#),
        (JSONB, Some("null"), r#""null""#),
        (JSONB, None, "null"),
        (TEXT, Some(""), r#""""#),
        (TEXT, Some("plain"), r#""plain""#),
        (BYTEA, Some(r"\x00ff7b7d"), r#""AP97fQ==""#),
        (BYTEA, Some(r"\x"), r#""""#),
        (BYTEA, None, "null"),
    ] {
        assert_eq!(value(payload(type_id, text), &[expand]).as_deref(), Some(expected), "{text:?}");
    }
    let nulls = ("table.json.payload.null.behavior", "optional_bytes");
    assert_eq!(
        value(payload(JSONB, Some(order)), &[expand, nulls]).as_deref(),
        Some(r#"{"note":null,"items":[{"qty":1,"sku":"a"}],"total":12.5,"orderId":42}"#)
    );
    let error = payload(TEXT, Some(r#"{"a":1} x"#)).route(&[expand]).expect_err("half JSON");
    assert!(matches!(error, RouteError::Json { .. }));
}

#[test]
fn expanded_payloads_in_an_envelope() {
    let options = [("table.expand.json.payload", "true"), ("table.fields.additional.placement", "type:envelope")];
    for (text, expected) in [
        (r#"{"a": 1, "n": null}"#, r#"{"payload":{"a":1},"type":"OrderCreated"}"#),
        (r#""t""#, r#"{"payload":"\"t\"","type":"OrderCreated"}"#),
        (r#"[1, "a"]"#, r#"{"payload":"[1, \"a\"]","type":"OrderCreated"}"#),
    ] {
        let table = Table::new().with("payload", JSONB, Some(text));
        assert_eq!(value(table, &options).as_deref(), Some(expected));
    }
}

#[test]
fn tombstones_on_empty_payloads() {
    let expand = ("table.expand.json.payload", "true");
    let envelope = ("table.fields.additional.placement", "type:envelope");
    let is_tombstone = |type_id, text, more: &[(&str, &str)]| {
        let options = [&[("route.tombstone.on.empty.payload", "true")], more].concat();
        value(Table::new().with("payload", type_id, text), &options).is_none()
    };
    for more in [&[][..], &[expand], &[envelope]] {
        assert!(is_tombstone(JSONB, None, more));
        assert!(is_tombstone(TEXT, Some(""), more));
        assert!(is_tombstone(TEXT, Some("  "), more));
        for text in ["{}", "[]", "null"] {
            assert!(!is_tombstone(JSONB, Some(text), more), "{text}");
        }
        assert!(!is_tombstone(BYTEA, Some(r"\x"), more));
    }
}

#[test]
fn topics_of_any_column_and_a_schema_version_without_effect() {
    let topic = |options: &[(&str, &str)]| {
        let event = Table::new().with("version", INTEGER, Some("2")).route(options).unwrap();
        (event.topic.to_string(), event.value, event.headers.len())
    };
    let value = bytes(r#"{"a": 1}"#);
    assert_eq!(topic(&[("route.by.field", "aggregateid")]), ("outbox.event.42".to_owned(), value.clone(), 2));
    assert_eq!(topic(&[("route.by.field", "version")]), ("outbox.event.2".to_owned(), value.clone(), 2));
    assert_eq!(topic(&[("table.field.event.schema.version", "version")]), ("outbox.event.order".to_owned(), value, 2));
}
