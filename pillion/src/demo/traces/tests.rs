//! The view as exporters and browsers see it: over its socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use opentelemetry::trace::{Span as _, Status, Tracer as _};
use pillion_trace_context::telemetry::SpanPipeline;

use super::*;

fn ask(view: &TraceView, request: &str) -> String {
    let mut stream = TcpStream::connect(view.address.0).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(view: &TraceView, path: &str) -> String {
    ask(view, &format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", view.address.0))
}

#[test]
fn spans_of_a_process_are_on_the_page_once_they_are_flushed() {
    let view = TraceView::start().unwrap();
    let mut settings = TelemetrySettings::from_lookup("order", "1", |_| None).unwrap();
    view.take_spans_of(&mut settings);
    let pipeline = SpanPipeline::start(&settings).unwrap().unwrap();
    let mut span = pipeline.tracer().start("POST /orders");
    span.set_status(Status::error("</script> is only text"));
    span.end();
    assert!(pipeline.flush());
    let list = get(&view, "/api/traces");
    assert!(list.contains("POST /orders") && list.contains(r#""errors":1"#), "{list}");
    let id = list.split(r#""traceId":""#).nth(1).and_then(|rest| rest.get(..32)).unwrap();
    let trace = get(&view, &format!("/api/traces/{id}"));
    assert!(trace.contains("</script> is only text") && trace.contains("application/json"), "{trace}");
    let page = get(&view, &format!("/traces/{id}"));
    assert!(page.contains("content-security-policy: default-src 'none'") && page.contains("/traces.js"), "{page}");
}

#[test]
fn what_is_no_trace_is_not_found_and_what_is_no_otlp_refused() {
    let view = TraceView::start().unwrap();
    for path in ["/api/traces/abc", "/api/traces/4bf92f3577b34da6a3ce929d0e0e4736", "/elsewhere"] {
        assert!(get(&view, path).starts_with("HTTP/1.1 404"), "{path}");
    }
    let host = view.address.0;
    let request = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: {host}\r\ncontent-length: 4\r\nconnection: close\r\n\r\n\u{7f}\u{7f}\u{7f}\u{7f}"
    );
    assert!(ask(&view, &request).starts_with("HTTP/1.1 400"));
}

#[test]
fn a_page_that_comes_by_another_name_is_turned_away() {
    let view = TraceView::start().unwrap();
    let answer = ask(&view, "GET /api/traces HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn services_are_told_where_to_send_and_by_what() {
    let view = TraceView::start().unwrap();
    let environment = view.address().environment();
    let settings = TelemetrySettings::from_lookup("order", "1", |name| {
        environment.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.clone())
    });
    let collector = settings.unwrap().export.unwrap().collector;
    assert_eq!((collector.protocol, collector.endpoint), (Protocol::HttpProtobuf, view.address.endpoint()));
}
