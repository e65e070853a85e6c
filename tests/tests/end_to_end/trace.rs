//! One trace from the HTTP request through outbox, relay and topics to the saga's last effect.

use std::collections::HashMap;

use anyhow::{Context, Result};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use pillion_test_postgres::Server;
use pillion_tests::otlp::{OtlpReceiver, ReceivedSpan};
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::sidecar::{Broker, connector};

const SERVICES: [&str; 3] = ["order", "payment", "inventory"];
const TABLES: [&str; 3] = ["orders.outbox", "payments.outbox", "inventory.outbox"];
const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_SPAN_ID: &str = "00f067aa0ba902b7";

/// The programs of the saga with pillion between them; all send their spans to `receiver`.
struct Saga {
    order_address: String,
    _postgres: Server,
    _running: Vec<Program>,
    _broker: Broker,
}

impl Saga {
    async fn start(receiver: &OtlpReceiver) -> Result<Self> {
        let postgres = Server::start().await?;
        let broker = Broker::start(&["num.partitions=3"]).await?;
        let mut running = Vec::new();
        let service = |name: &str| {
            let mut command = program::command(name)?;
            command
                .env("DATABASE_URL", postgres.url())
                .env("KAFKA_BOOTSTRAP_SERVERS", broker.address())
                .env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint())
                .env("OTEL_BSP_SCHEDULE_DELAY", "100");
            anyhow::Ok(command)
        };
        for name in SERVICES {
            let migrated = service(name)?.arg("--migrate").output().await?;
            assert!(migrated.status.success(), "{name}: {}", String::from_utf8_lossy(&migrated.stderr));
        }
        let mut relay = connector(&postgres, broker.address(), &TABLES)?;
        relay.env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint()).env("OTEL_BSP_SCHEDULE_DELAY", "100");
        running.push(Program::start_silent("pillion cdc", relay)?);
        let mut order_address = String::new();
        for name in SERVICES {
            let program = Program::start(name, service(name)?).await?;
            if name == "order" {
                order_address = program.first_line().to_owned();
            }
            running.push(program);
        }
        Ok(Self { order_address, _postgres: postgres, _running: running, _broker: broker })
    }

    async fn place_order(&self, sku: &str) -> Result<String> {
        let body = format!(r#"{{"customer":"ada","sku":"{sku}","quantity":1,"amountCents":1000}}"#);
        let request = format!(
            "POST /orders HTTP/1.1\r\nhost: order\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             traceparent: 00-{TRACE_ID}-{CALLER_SPAN_ID}-01\r\ntracestate: vendor=1\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&self.order_address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

fn trace_id() -> Vec<u8> {
    (0..16).map(|index| u8::from_str_radix(&TRACE_ID[index * 2..index * 2 + 2], 16).unwrap()).collect()
}

/// The trace's spans by id.
struct Trace {
    by_id: HashMap<Vec<u8>, ReceivedSpan>,
}

impl Trace {
    fn of(spans: Vec<ReceivedSpan>) -> Self {
        Self { by_id: spans.into_iter().map(|received| (received.span.span_id.clone(), received)).collect() }
    }

    fn find(&self, service: &str, name: &str) -> Option<&ReceivedSpan> {
        self.by_id.values().find(|received| received.service == service && received.span.name == name)
    }

    fn parent(&self, child: &ReceivedSpan) -> Option<&ReceivedSpan> {
        self.by_id.get(&child.span.parent_span_id)
    }

    /// From the span up to where its parents end: `service: name`, outermost last.
    fn ancestry(&self, span: &ReceivedSpan) -> Vec<String> {
        std::iter::successors(Some(span), |span| self.parent(span)).map(ReceivedSpan::label).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_spans_request_outbox_relay_and_every_service() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let saga = Saga::start(&receiver).await?;
    let answer = saga.place_order("bicycle").await?;
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");

    let trace = wait_for("the trace to be whole", || async {
        let trace = Trace::of(receiver.trace(&trace_id()));
        let last = trace.find("order", "process outbox.event.stock").is_some();
        // A span is sent when it ends, so a parent may come after its children.
        let whole = trace.by_id.values().all(|span| trace.parent(span).is_some() || is_root(span));
        Ok((last && whole).then_some(trace))
    })
    .await?;

    let root = trace.find("order", "POST /orders").context("the request's span")?;
    assert!(is_root(root), "the request continues its caller's trace");
    assert_eq!(root.span.kind, SpanKind::Server as i32);

    let last = trace.find("order", "process outbox.event.stock").context("the last step's span")?;
    let ancestry = trace.ancestry(last).join("\n");
    let position = |label: &str| ancestry.lines().position(|line| line.starts_with(label));
    let mut at = 0;
    for step in [
        "order: process outbox.event.stock",
        "pillion: outbox relay",
        "inventory: process outbox.event.payment",
        "pillion: outbox relay",
        "payment: process outbox.event.order",
        "pillion: outbox relay",
        "order: POST /orders",
    ] {
        let lines: Vec<_> = ancestry.lines().skip(at).collect();
        let found = lines.iter().position(|line| line.starts_with(step));
        at += found.with_context(|| format!("{step} is missing above line {at} of:\n{ancestry}"))? + 1;
    }
    assert!(position("order: POST /orders").is_some());

    let process = trace.find("payment", "process outbox.event.order").context("payment's span")?;
    let relay = trace.parent(process).context("its parent")?;
    assert_eq!(process.span.kind, SpanKind::Consumer as i32);
    let links: Vec<_> = process.span.links.iter().map(|link| link.span_id.clone()).collect();
    assert_eq!(links, std::slice::from_ref(&relay.span.span_id), "a consumer links to the record's span");
    assert_eq!(process.attribute("messaging.destination.name").as_deref(), Some("outbox.event.order"));
    assert_eq!(relay.span.kind, SpanKind::Producer as i32);
    assert_eq!(relay.attribute("messaging.destination.name").as_deref(), Some("outbox.event.order"));
    let insert = trace.parent(relay).context("the outbox insert's span")?;
    assert_eq!(insert.service, "order");
    assert!(relay.span.start_time_unix_nano >= insert.span.start_time_unix_nano, "the relay begins at the commit");
    assert!(relay.span.end_time_unix_nano > relay.span.start_time_unix_nano);
    Ok(())
}

/// The request's own span, whose parent is the test's caller.
fn is_root(received: &ReceivedSpan) -> bool {
    let caller: Vec<u8> =
        (0..8).map(|index| u8::from_str_radix(&CALLER_SPAN_ID[index * 2..index * 2 + 2], 16).unwrap()).collect();
    received.span.parent_span_id == caller
}
