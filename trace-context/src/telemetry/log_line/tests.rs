//! What a log line holds, human and JSON.

use std::io;
use std::sync::Arc;

use opentelemetry::trace::TraceContextExt;
use parking_lot::Mutex;
use tracing_subscriber::layer::SubscriberExt;

use super::*;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `body` logs, line by line.
fn logged(format: LogFormat, body: impl FnOnce()) -> Vec<String> {
    let output = Output::default();
    let writer = output.clone();
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .event_format(LogLine::new("pillion", format))
        .with_writer(move || writer.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), body);
    let bytes = output.0.lock().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

fn logged_json(body: impl FnOnce()) -> Value {
    let lines = logged(LogFormat::Json, body);
    assert_eq!(lines.len(), 1, "{lines:?}");
    serde_json::from_str(&lines[0]).unwrap()
}

fn within_parent(body: impl FnOnce()) {
    let parent: TraceParent = PARENT.parse().unwrap();
    let _attached = Context::new().with_remote_span_context(parent.to_span_context()).attach();
    body();
}

#[test]
fn human_line_names_service_trace_and_span() {
    let lines = logged(LogFormat::Human, || {
        within_parent(|| {
            tracing::info_span!("relay", topic = "orders")
                .in_scope(|| tracing::warn!(target: "cdc", lag = 3, "behind"));
        });
    });
    let expected =
        " WARN [pillion,4bf92f3577b34da6a3ce929d0e0e4736,00f067aa0ba902b7] cdc: relay{topic=\"orders\"}: behind lag=3";
    assert_eq!(lines.len(), 1);
    assert!(lines[0].ends_with(expected), "{lines:?}");
}

#[test]
fn human_line_outside_a_trace_leaves_the_ids_empty() {
    let lines = logged(LogFormat::Human, || tracing::info!(target: "broker", "ready"));
    assert!(lines[0].ends_with("  INFO [pillion,,] broker: ready"), "{lines:?}");
}

#[test]
fn json_line_has_trace_ids_spans_and_typed_fields() {
    let line = logged_json(|| {
        within_parent(|| {
            let _outer = tracing::info_span!("outer", a = 1).entered();
            tracing::error!(target: "cdc", count = 3, ratio = 0.5, ready = true, name = "x", debug = ?Some(1), "went \"wrong\"");
        });
    });
    let expected = [
        ("level", Value::from("ERROR")),
        ("target", Value::from("cdc")),
        ("service", Value::from("pillion")),
        ("trace_id", Value::from("4bf92f3577b34da6a3ce929d0e0e4736")),
        ("span_id", Value::from("00f067aa0ba902b7")),
        ("spans", Value::from("outer{a=1}")),
        ("message", Value::from("went \"wrong\"")),
        ("count", Value::from(3)),
        ("ratio", Value::from(0.5)),
        ("ready", Value::from(true)),
        ("name", Value::from("x")),
        ("debug", Value::from("Some(1)")),
    ];
    for (key, value) in expected {
        assert_eq!(line[key], value, "{key} in {line}");
    }
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn json_line_outside_a_trace_has_no_ids() {
    let line = logged_json(|| tracing::info!("ready"));
    assert!(line.get("trace_id").is_none() && line.get("span_id").is_none() && line.get("spans").is_none());
}

#[test]
fn field_named_like_one_of_the_lines_own_does_not_replace_it() {
    let line = logged_json(|| tracing::info!(target: "cdc", service = "other", level = 7, "ready"));
    assert_eq!((&line["service"], &line["fields.service"]), (&Value::from("pillion"), &Value::from("other")));
    assert_eq!((&line["level"], &line["fields.level"]), (&Value::from("INFO"), &Value::from(7)));
}

#[test]
fn error_field_tells_its_causes() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot write the segment")]
    struct Outer(#[source] io::Error);
    let error = Outer(io::Error::other("disk on fire"));
    let line = logged_json(|| tracing::error!(error = &error as &dyn std::error::Error, "stopped"));
    assert_eq!(line["error"], "cannot write the segment: disk on fire");
}
