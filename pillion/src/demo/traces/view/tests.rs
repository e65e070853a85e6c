//! What the page is told of a trace.

use opentelemetry_proto::tonic::common::v1::{ArrayValue, KeyValueList};
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use super::*;

const ID: TraceId = [0xab; 16];

fn span(number: u8, parent: u8, service: &str, name: &str, from_us: u64, to_us: u64) -> SpanOfService {
    let id = |number: u8| if number == 0 { Vec::new() } else { vec![number; 8] };
    let span = Span {
        span_id: id(number),
        parent_span_id: id(parent),
        name: name.to_owned(),
        start_time_unix_nano: 1_000_000_000 + from_us * 1_000,
        end_time_unix_nano: 1_000_000_000 + to_us * 1_000,
        ..Span::default()
    };
    SpanOfService { service: service.into(), span }
}

fn shown(spans: impl IntoIterator<Item = SpanOfService>) -> Value {
    let mut store = Store::default();
    for span in spans {
        store.add(ID, span);
    }
    serde_json::to_value(trace(&store, &ID).unwrap()).unwrap()
}

#[test]
fn a_trace_is_told_by_its_root_whatever_came_first() {
    let mut failed = span(3, 2, "payment", "process orders", 40, 70);
    failed.span.status = Some(Status { code: StatusCode::Error as i32, message: "declined".into() });
    let trace =
        shown([failed, span(2, 1, "pillion", "outbox relay", 10, 50), span(1, 9, "order", "POST /orders", 0, 30)]);
    assert_eq!(trace["rootService"], "order");
    assert_eq!(trace["rootName"], "POST /orders", "its parent, the caller, is not here");
    assert_eq!(trace["services"], json!(["order", "pillion", "payment"]));
    assert_eq!((&trace["spans"], &trace["errors"], &trace["durationUs"]), (&json!(3), &json!(1), &json!(70.0)));
    let starts: Vec<_> = trace["all"].as_array().unwrap().iter().map(|span| span["startUs"].as_f64()).collect();
    assert_eq!(starts, [Some(0.0), Some(10.0), Some(40.0)]);
    assert_eq!((&trace["all"][2]["isError"], &trace["all"][2]["status"]), (&json!(true), &json!("declined")));
}

#[test]
fn attributes_keep_their_kinds_and_numbers_that_a_browser_would_round_are_text() {
    let of = |value| KeyValue { key: "key".into(), value: Some(Wrapped { value: Some(value) }), ..KeyValue::default() };
    for (sent, expected) in [
        (AnyValue::StringValue("<b>".into()), json!("<b>")),
        (AnyValue::BoolValue(true), json!(true)),
        (AnyValue::IntValue(-7), json!(-7)),
        (AnyValue::IntValue(i64::MAX), json!("9223372036854775807")),
        (AnyValue::DoubleValue(0.5), json!(0.5)),
        (AnyValue::DoubleValue(f64::NAN), json!("NaN")),
        (AnyValue::BytesValue(vec![1, 255]), json!("01ff")),
        (AnyValue::ArrayValue(ArrayValue { values: vec![Wrapped { value: None }] }), json!([null])),
        (AnyValue::KvlistValue(KeyValueList { values: vec![of(AnyValue::IntValue(1))] }), json!({ "key": 1 })),
    ] {
        let mut one = span(1, 0, "order", "a", 0, 1);
        one.span.attributes = vec![of(sent)];
        assert_eq!(shown([one])["all"][0]["attributes"]["key"], expected);
    }
}

#[test]
fn a_span_that_ends_before_it_begins_takes_no_time() {
    let trace = shown([span(1, 0, "order", "a", 50, 20)]);
    assert_eq!((&trace["durationUs"], &trace["all"][0]["durationUs"]), (&json!(0.0), &json!(0.0)));
}

#[test]
fn only_a_whole_trace_id_is_one() {
    assert_eq!(parse_trace_id("abababababababababababababababab"), Some(ID));
    for text in ["", "ab", "+bababababababababababababababab", "gbababababababababababababababab"] {
        assert_eq!(parse_trace_id(text), None, "{text}");
    }
}
