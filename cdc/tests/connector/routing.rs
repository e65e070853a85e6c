//! Which rows arrive, and as what.

use anyhow::Result;
use pillion_cdc::router::Header;

use crate::recorder::Recorder;
use crate::{config, id, ids, insert, start};
use pillion_test_postgres::Server;

fn header(key: &str, value: &str) -> Header {
    Header { key: key.into(), value: Some(value.to_owned().into()) }
}

#[tokio::test]
async fn a_committed_row_arrives_as_debeziums_router_would_send_it() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let client = server.connect().await?;
    client
        .batch_execute(
            r#"insert into outbox values ('11111111-1111-1111-1111-111111111111', 'order', '42', 'OrderCreated',
            '{"orderId": 42, "total": 12.50, "items": [{"sku": "a", "qty": 1}], "note": null, "empty": []}',
            'traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')"#,
        )
        .await?;
    let committed: f64 = client.query_one("select extract(epoch from now())::float8 * 1000", &[]).await?.try_get(0)?;
    let event = recorder.until_id("11111111-1111-1111-1111-111111111111").await.remove(0);
    assert_eq!((&*event.topic, event.partition), ("outbox.event.order", None));
    assert_eq!(event.key.as_deref(), Some(&b"42"[..]));
    assert_eq!(
        event.value.as_deref(),
        Some(&br#"{"note": null, "empty": [], "items": [{"qty": 1, "sku": "a"}], "total": 12.50, "orderId": 42}"#[..])
    );
    assert_eq!(
        event.record_headers(),
        [
            header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            header("id", "11111111-1111-1111-1111-111111111111"),
            header("type", "OrderCreated"),
        ]
    );
    let before = committed as i64 - event.timestamp_ms;
    assert!((0..60_000).contains(&before), "the timestamp is the commit's, {before} ms before the next statement");
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn transactions_arrive_in_commit_order_and_rolled_back_ones_never() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let (mut first, mut second) = (server.connect().await?, server.connect().await?);
    // The first to insert is the last to commit.
    let late = first.transaction().await?;
    insert(&late, "outbox", 1).await?;
    let early = second.transaction().await?;
    insert(&early, "outbox", 2).await?;
    insert(&early, "outbox", 3).await?;
    let nested =
        "savepoint s; insert into outbox values (gen_random_uuid(), 'order', '1', 'Undone', '{}'); rollback to s";
    early.batch_execute(nested).await?;
    early.commit().await?;
    let undone = second.transaction().await?;
    insert(&undone, "outbox", 4).await?;
    undone.rollback().await?;
    insert(&late, "outbox", 5).await?;
    late.commit().await?;
    // A service may delete its row at once: the outbox stays empty.
    let deleted = second.transaction().await?;
    insert(&deleted, "outbox", 6).await?;
    deleted.batch_execute("delete from outbox").await?;
    deleted.commit().await?;
    recorder.until_id(&id(6)).await;
    assert_eq!(ids(&recorder), [2, 3, 1, 5, 6].map(id));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn several_tables_and_a_partitioned_one_share_one_stream() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(
            "create schema audit;
            create table audit.outbox (id uuid, aggregatetype text, aggregateid text, type text, payload jsonb, at int)
                partition by range (at);
            create table audit.outbox_low partition of audit.outbox for values from (0) to (10);
            create table audit.outbox_high partition of audit.outbox for values from (10) to (20);
            create table unrelated (id int primary key)",
        )
        .await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.set("table.include.list", "orders.outbox,payments.outbox,audit.outbox")?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    insert(&client, "payments.outbox", 1).await?;
    insert(&client, "orders.outbox", 2).await?;
    client.batch_execute("insert into unrelated values (1)").await?;
    for (number, at) in [(3, 5), (4, 15)] {
        let values = format!("('{}', 'order', '1', 'Audited', '{{}}', {at})", id(number));
        client.batch_execute(&format!("insert into audit.outbox values {values}")).await?;
    }
    recorder.until_id(&id(4)).await;
    assert_eq!(ids(&recorder), [1, 2, 3, 4].map(id));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn an_emitted_message_is_a_row_without_a_table() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let mut client = server.connect().await?;
    let emit = "select pg_logical_emit_message(true, 'outbox',
        '{\"id\":\"m1\",\"aggregatetype\":\"order\",\"aggregateid\":\"9\",\"type\":\"Paid\",\"payload\":{\"z\": 1.50,  \"a\":[]}}')";
    let undone = client.transaction().await?;
    undone.batch_execute(&emit.replace("m1", "undone")).await?;
    undone.rollback().await?;
    client.batch_execute("select pg_logical_emit_message(true, 'another', 'not for us')").await?;
    client.batch_execute(emit).await?;
    let events = recorder.until_id("m1").await;
    assert_eq!(events.len(), 1);
    assert_eq!((&*events[0].topic, events[0].key.as_deref()), ("outbox.event.order", Some(&b"9"[..])));
    assert_eq!(events[0].value.as_deref(), Some(&br#"{"z": 1.50,  "a":[]}"#[..]));
    assert_eq!(events[0].headers, [header("id", "m1"), header("type", "Paid")]);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn values_are_printed_alike_whatever_the_roles_settings() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client
        .batch_execute(
            "alter role postgres set datestyle = 'German'; alter role postgres set timezone = 'Asia/Tokyo';
            alter role postgres set bytea_output = 'escape';
            create table outbox (id bigint primary key, aggregatetype text, aggregateid text, type text, payload bytea,
                at timestamptz, part int)",
        )
        .await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.set("table.field.event.timestamp", "at")?;
    config.set("table.fields.additional.placement", "at:header,part:partition")?;
    let running = start(config, &recorder);
    running.until_streaming().await;
    let row = r"(7, 'order', null, 'x', '\x00ff7b7d', '2026-01-02 03:04:05.678901Z', 3)";
    client.batch_execute(&format!("insert into outbox values {row}")).await?;
    let event = recorder.until_id("7").await.remove(0);
    assert_eq!((event.partition, event.key.as_deref(), event.timestamp_ms), (Some(3), None, 1_767_323_045_678));
    assert_eq!(event.value.as_deref(), Some(&b"\x00\xff{}"[..]));
    assert_eq!(event.headers, [header("id", "7"), header("at", "2026-01-02T03:04:05.678901Z")]);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn columns_may_be_added_and_dropped_while_streaming() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let client = server.connect().await?;
    insert(&client, "outbox", 1).await?;
    client
        .batch_execute("alter table outbox drop column tracingspancontext, add column tenant text default 'x'")
        .await?;
    insert(&client, "outbox", 2).await?;
    let events = recorder.until_id(&id(2)).await;
    assert_eq!(events[1].value.as_deref(), Some(&br#"{"n": 2}"#[..]));
    running.stop().await?;
    Ok(())
}
