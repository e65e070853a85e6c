use std::io::Write;
use std::sync::{Arc, Mutex};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What one line inside and one line outside of a span look like.
fn lines(is_json: bool) -> Vec<String> {
    let buffer = Buffer::default();
    let writer = buffer.clone();
    let tracer = SdkTracerProvider::builder().build().tracer("test");
    let logs = tracing_subscriber::fmt::layer()
        .event_format(LogFormat::new("order".into(), is_json))
        .with_writer(move || writer.clone())
        .with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(tracing_opentelemetry::layer().with_tracer(tracer)).with(logs);
    tracing::subscriber::with_default(subscriber, || {
        info_span!("work").in_scope(|| info!(quantity = 3, "inside"));
        info!("outside");
    });
    let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_line_names_service_trace_and_span() {
    let lines = lines(false);
    let (_, rest) = lines[0].split_once(" [order,").unwrap();
    let (ids, message) = rest.split_once("] ").unwrap();
    assert_eq!(ids.split(',').map(str::len).collect::<Vec<_>>(), [32, 16]);
    assert!(message.starts_with("inside"), "{message}");
    assert!(lines[1].contains(" [order,,] outside"), "{}", lines[1]);
}

#[test]
fn as_json_the_same_are_fields() {
    let lines: Vec<Value> = lines(true).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&lines[0]["service"], &lines[0]["message"], &lines[0]["quantity"]),
        (&"order".into(), &"inside".into(), &3.into())
    );
    assert_eq!(lines[0]["traceId"].as_str().map(str::len), Some(32));
    assert_eq!(lines[1]["traceId"], "");
}
