//! One trace from the HTTP request through outbox, relay and topics to the saga's last effect.

use std::collections::HashMap;

use anyhow::{Context, Result};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use pillion_test_postgres::Server;
use pillion_tests::otlp::{OtlpReceiver, ReceivedSpan};
use pillion_tests::proxy::Proxy;
use pillion_tests::saga::{Saga, SagaOptions};
use pillion_tests::waiting::wait_for;
use serde_json::json;

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_SPAN_ID: &str = "00f067aa0ba902b7";

/// A saga whose spans, pillion's included, all go to `receiver`.
async fn traced_saga(receiver: &OtlpReceiver) -> Result<Saga> {
    let options = SagaOptions { otlp_endpoint: Some(receiver.endpoint()), ..SagaOptions::default() };
    Saga::start(Server::start().await?, options).await
}

async fn place_order(saga: &Saga, style: &str, headers: &[&str]) -> Result<u16> {
    let order = json!({"customer": "ada", "sku": "bicycle", "quantity": 1, "amountCents": 1000, "style": style});
    Ok(saga.request("order", "POST /orders", headers, Some(&order)).await?.0)
}

/// What a caller with W3C's headers sends.
fn caller() -> [String; 3] {
    [
        format!("traceparent: 00-{TRACE_ID}-{CALLER_SPAN_ID}-01"),
        "tracestate: vendor=1".to_owned(),
        "baggage: tenant=acme".to_owned(),
    ]
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

/// Waits for the span `last` of `service`, and until every span's parent is there: a span is sent when it ends, so a
/// parent may come after its children.
async fn whole_trace(receiver: &OtlpReceiver, service: &str, last: &str) -> Result<Trace> {
    wait_for("the trace to be whole", || async {
        let trace = Trace::of(receiver.trace(&trace_id()));
        let has_last = trace.find(service, last).is_some();
        let whole = trace.by_id.values().all(|span| trace.parent(span).is_some() || is_root(span));
        Ok((has_last && whole).then_some(trace))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_spans_request_outbox_relay_and_every_service() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let saga = traced_saga(&receiver).await?;
    let headers = caller();
    let status = place_order(&saga, "choreographed", &headers.each_ref().map(String::as_str)).await?;
    assert_eq!(status, 202);
    let trace = whole_trace(&receiver, "order", "process outbox.event.mail").await?;

    let root = trace.find("order", "POST /orders").context("the request's span")?;
    assert!(is_root(root), "the request continues its caller's trace");
    assert_eq!(root.span.kind, SpanKind::Server as i32);

    let last = trace.find("order", "process outbox.event.mail").context("the last step's span")?;
    let ancestry = trace.ancestry(last).join("\n");
    let position = |label: &str| ancestry.lines().position(|line| line.starts_with(label));
    let mut at = 0;
    for step in [
        "order: process outbox.event.mail",
        "mailer: send outbox.event.mail",
        "mailer: process outbox.event.order",
        "pillion: outbox relay",
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

#[tokio::test(flavor = "multi_thread")]
async fn an_orchestrated_saga_is_one_trace_too_and_zipkins_headers_are_continued() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let saga = traced_saga(&receiver).await?;
    let b3 = format!("b3: {TRACE_ID}-{CALLER_SPAN_ID}-1");
    assert_eq!(place_order(&saga, "orchestrated", &[&b3]).await?, 202);
    let trace = whole_trace(&receiver, "order", "process outbox.event.mail").await?;
    for (service, name) in [
        ("payment", "process outbox.event.payment-command"),
        ("inventory", "process outbox.event.stock-command"),
        ("mailer", "process outbox.event.mail-command"),
    ] {
        assert!(trace.find(service, name).is_some(), "{service}: {name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_database_answers_500_within_five_seconds_and_its_span_holds_the_timeout() -> Result<()> {
    let receiver = OtlpReceiver::start().await?;
    let postgres = Server::start().await?;
    let port = postgres.url().rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
    let proxy = Proxy::raw(([127, 0, 0, 1], port.context("a URL has a port")?).into()).await?;
    let options = SagaOptions {
        otlp_endpoint: Some(receiver.endpoint()),
        detours: vec![("order", proxy.address().to_string())],
        ..SagaOptions::default()
    };
    let saga = Saga::start(postgres, options).await?;
    proxy.hold_requests(true);
    let headers = caller();
    let asked = std::time::Instant::now();
    let status = place_order(&saga, "choreographed", &headers.each_ref().map(String::as_str)).await?;
    let took = asked.elapsed();
    assert_eq!(status, 500);
    assert!(took.as_secs() < 5, "it took {took:?}");
    let trace = whole_trace(&receiver, "order", "POST /orders").await?;
    let span = trace.find("order", "POST /orders").context("the request's span")?;
    assert_eq!(span.span.status.as_ref().map(|status| status.code), Some(2), "the span is an error");
    let exceptions = span.span.events.iter().flat_map(|event| &event.attributes);
    let texts: Vec<String> =
        exceptions.filter_map(|attribute| Some(format!("{:?}", attribute.value.as_ref()?))).collect();
    assert!(texts.iter().any(|text| text.contains("timeout")), "{texts:?}");

    proxy.hold_requests(false);
    let order_id = saga.place("choreographed", "ada", "bicycle").await?;
    assert_eq!(saga.ended(&order_id).await?["saga"]["state"], "COMPLETED", "and goes on afterwards");
    Ok(())
}

/// The request's own span, whose parent is the test's caller.
fn is_root(received: &ReceivedSpan) -> bool {
    let caller: Vec<u8> =
        (0..8).map(|index| u8::from_str_radix(&CALLER_SPAN_ID[index * 2..index * 2 + 2], 16).unwrap()).collect();
    received.span.parent_span_id == caller
}
