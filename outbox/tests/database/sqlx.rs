use anyhow::Result;
use opentelemetry::Context;
use opentelemetry::context::FutureExt as _;
use opentelemetry::trace::{TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use pillion_outbox::Event;
use pillion_outbox::sqlx::inbox::{self, Inbox};
use pillion_outbox::sqlx::outbox::{self, Outbox};
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::service::{count, database, outbox_table, rows};

#[tokio::test]
async fn events_are_written_with_the_current_span_and_gone_after_a_rollback() -> Result<()> {
    let (server, client) = database().await?;
    let pool = PgPool::connect(&server.url()).await?;
    let mut transaction = pool.begin().await?;
    outbox::insert(&mut transaction, Event::new("order", 41, "TakenBack")).await?;
    transaction.rollback().await?;

    let provider = SdkTracerProvider::builder().build();
    let context = Context::new().with_span(provider.tracer("service").start("pay"));
    let write = async {
        let mut transaction = pool.begin().await?;
        outbox::insert(&mut transaction, Event::new("order", 42, "OrderPaid").json(&json!({"total": 100}))?).await?;
        transaction.commit().await?;
        anyhow::Ok(())
    };
    write.with_context(context.clone()).await?;

    let span = context.span();
    let span = span.span_context();
    let expected = format!("traceparent=00-{}-{}-01", span.trace_id(), span.span_id());
    let rows = rows(&client, "outbox").await?;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].1.as_str(), rows[0].3.as_deref()), ("42", Some(r#"{"total": 100}"#)));
    assert_eq!(rows[0].4.as_deref(), Some(expected.as_str()));
    Ok(())
}

#[tokio::test]
async fn many_events_keep_their_order_and_another_table_holds_bytes() -> Result<()> {
    const EVENTS: u32 = 2_500;
    let (server, client) = database().await?;
    client.batch_execute(&outbox_table("\"Out box\"", "bytea")).await?;
    let pool = PgPool::connect(&server.url()).await?;
    let mut transaction = pool.begin().await?;
    let bytes = |number: u32| Event::new("order", number, "Counted").bytes(number.to_be_bytes());
    let outbox = Outbox::new("Out box".parse()?);
    let ids = outbox.insert_all(&mut transaction, (0..EVENTS).map(bytes)).await?;
    outbox.insert(&mut transaction, Event::new("order", EVENTS, "Last")).await?;
    outbox::insert_all(&mut transaction, [Event::new("order", 1, "Elsewhere")]).await?;
    transaction.commit().await?;

    assert_eq!(ids.len(), EVENTS as usize);
    let rows = rows(&client, "\"Out box\"").await?;
    assert_eq!(rows.len(), EVENTS as usize + 1);
    for (number, row) in (0..EVENTS).zip(&rows) {
        assert_eq!((&row.1, row.3.as_deref()), (&number.to_string(), Some(format!("\\x{number:08x}").as_str())));
    }
    assert_eq!(count(&client, "outbox").await?, 1);
    Ok(())
}

#[tokio::test]
async fn an_event_is_acted_upon_once_and_forgotten_with_a_rollback() -> Result<()> {
    let (server, client) = database().await?;
    client.batch_execute("CREATE TABLE other (LIKE inbox INCLUDING ALL)").await?;
    let pool = PgPool::connect(&server.url()).await?;
    let event = Uuid::now_v7();
    let mut transaction = pool.begin().await?;
    assert!(inbox::once(&mut transaction, event).await?);
    transaction.rollback().await?;
    for is_first in [true, false] {
        let mut transaction = pool.begin().await?;
        assert_eq!(inbox::once(&mut transaction, event).await?, is_first);
        assert_eq!(Inbox::new("other".parse()?).once(&mut transaction, event).await?, is_first);
        transaction.commit().await?;
    }
    Ok(())
}
