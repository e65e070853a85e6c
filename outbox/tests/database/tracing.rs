use anyhow::Result;
use opentelemetry::Context;
use opentelemetry::baggage::BaggageExt as _;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use pillion_outbox::{Event, outbox};
use pillion_trace_context::TracingSpanContext;
use tokio_postgres::Client;
use tracing::Instrument as _;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::service::{database, rows};

async fn write(client: &mut Client, event: Event) -> Result<()> {
    let transaction = client.transaction().await?;
    outbox::insert(&transaction, event).await?;
    transaction.commit().await?;
    Ok(())
}

/// The `traceparent` of a span.
fn traceparent(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}

/// What the connector would put into the headers, for each row.
async fn published(client: &Client) -> Result<Vec<Option<String>>> {
    let rows = rows(client, "outbox").await?;
    let read = |text: String| TracingSpanContext::parse(&text).map(|context| context.traceparent.to_string());
    Ok(rows.into_iter().map(|row| row.4.and_then(read)).collect())
}

#[tokio::test]
async fn the_row_carries_the_current_span_of_tracing() -> Result<()> {
    let (_server, mut client) = database().await?;
    let provider = SdkTracerProvider::builder().build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("service"));
    let _default = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));

    let (outer, inner) = (tracing::info_span!("POST /orders"), tracing::info_span!("pay"));
    let write_in_both = async {
        write(&mut client, Event::new("order", 1, "Outer")).await?;
        write(&mut client, Event::new("order", 1, "Inner")).instrument(inner.clone()).await
    };
    write_in_both.instrument(outer.clone()).await?;
    write(&mut client, Event::new("order", 1, "Untraced")).await?;

    let of = |span: &tracing::Span| Some(traceparent(span.context().span().span_context()));
    assert_eq!(published(&client).await?, [of(&outer), of(&inner), None]);
    assert_ne!(of(&outer), of(&inner));
    Ok(())
}

#[tokio::test]
async fn the_row_carries_the_current_span_of_opentelemetry_with_its_baggage() -> Result<()> {
    use opentelemetry::context::FutureExt as _;

    let (_server, mut client) = database().await?;
    let provider = SdkTracerProvider::builder().build();
    let context = Context::new().with_span(provider.tracer("service").start("pay"));
    let context = context.with_baggage([opentelemetry::KeyValue::new("tenant", "7")]);
    write(&mut client, Event::new("order", 1, "Paid")).with_context(context.clone()).await?;
    write(&mut client, Event::new("order", 1, "Paid").traced_by(&context)).await?;

    let expected = traceparent(context.span().span_context());
    assert_eq!(published(&client).await?, [Some(expected.clone()), Some(expected)]);
    for row in rows(&client, "outbox").await? {
        let read = row.4.as_deref().and_then(TracingSpanContext::parse).unwrap();
        assert_eq!(read.baggage.as_deref(), Some("tenant=7"));
    }
    Ok(())
}

#[tokio::test]
async fn a_context_of_the_callers_takes_the_place_of_the_current_span() -> Result<()> {
    use opentelemetry::context::FutureExt as _;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let (_server, mut client) = database().await?;
    let provider = SdkTracerProvider::builder().build();
    let current = Context::new().with_span(provider.tracer("service").start("pay"));
    write(&mut client, Event::new("order", 1, "Given").trace_context(GIVEN)).with_context(current.clone()).await?;
    write(&mut client, Event::new("order", 1, "None").traced_by(&Context::new())).with_context(current).await?;
    assert_eq!(published(&client).await?, [Some(GIVEN.to_owned()), None]);
    Ok(())
}
