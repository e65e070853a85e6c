//! What is lost when something dies: nothing.

use std::time::Duration;

use anyhow::Result;
use pillion_cdc::Lsn;

use crate::recorder::Recorder;
use crate::{config, confirmed_flush, id, ids, insert, start, until};
use pillion_test_postgres::Server;

#[tokio::test]
async fn a_killed_postgres_comes_back_and_nothing_is_lost_or_repeated() -> Result<()> {
    let mut server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let mut next = 0;
    for _ in 0..3 {
        let client = server.connect().await?;
        for _ in 0..100 {
            insert(&client, "outbox", next).await?;
            next += 1;
        }
        server.kill()?;
        server.restart().await?;
    }
    recorder.until_id(&id(next - 1)).await;
    assert_eq!(ids(&recorder), (0..next).map(id).collect::<Vec<_>>());
    assert!(running.status.snapshot().sessions > 1, "the session was lost");
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_connector_that_dies_is_followed_by_one_that_loses_and_repeats_nothing() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let recorder = Recorder::default();
    let mut next = 0;
    for _ in 0..3 {
        let running = start(config(&server), &recorder);
        running.until_streaming().await;
        for _ in 0..100 {
            insert(&client, "outbox", next).await?;
            next += 1;
        }
        running.task.abort();
        assert!(running.task.await.unwrap_err().is_cancelled());
        // While nobody listens, the slot keeps the log.
        insert(&client, "outbox", next).await?;
        next += 1;
    }
    let running = start(config(&server), &recorder);
    recorder.until_id(&id(next - 1)).await;
    assert_eq!(ids(&recorder), (0..next).map(id).collect::<Vec<_>>());
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_connector_that_leaves_in_order_is_followed_by_one_that_repeats_nothing() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let recorder = Recorder::default();
    for number in 0..3 {
        let running = start(config(&server), &recorder);
        running.until_streaming().await;
        insert(&client, "outbox", number).await?;
        recorder.until_id(&id(number)).await;
        let status = running.status.clone();
        until("the row's confirmation", || {
            status.snapshot().confirmed_lsn > Lsn::ZERO && status.snapshot().rows_published == 1
        })
        .await;
        running.stop().await?;
    }
    assert_eq!(ids(&recorder), [0, 1, 2].map(id));
    Ok(())
}

#[tokio::test]
async fn an_idle_outbox_does_not_hold_the_log() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    let client = server.connect().await?;
    // Everybody else is busy.
    client.batch_execute("create table busy (n int); insert into busy select generate_series(1, 10000)").await?;
    let text: String = client.query_one("select pg_current_wal_lsn()::text", &[]).await?.try_get(0)?;
    let written: Lsn = text.parse()?;
    while confirmed_flush(&client).await? < written {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(recorder.events().is_empty());
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_second_connector_waits_for_the_slot_and_takes_over() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let recorder = Recorder::default();
    let first = start(config(&server), &recorder);
    first.until_streaming().await;
    let standby = start(config(&server), &recorder);
    until("the standby to say who holds the slot", || {
        standby.status.snapshot().last_error.is_some_and(|error| error.contains("held by pillion pillion (process "))
    })
    .await;
    insert(&client, "outbox", 1).await?;
    recorder.until_id(&id(1)).await;
    first.stop().await?;
    insert(&client, "outbox", 2).await?;
    recorder.until_id(&id(2)).await;
    assert_eq!(standby.status.snapshot().last_error, None);
    standby.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_large_transaction_passes_a_small_bound() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let mut config = config(&server);
    config.bytes_in_flight_max = 64 * 1024;
    let running = start(config, &recorder);
    running.until_streaming().await;
    let client = server.connect().await?;
    client
        .batch_execute(
            "insert into outbox select lpad(n::text, 32, '0')::uuid, 'order', n::text, 'Created', jsonb_build_object('pad', repeat('x', 500))
            from generate_series(0, 19999) n",
        )
        .await?;
    let last = "00000000-0000-0000-0000-000000019999";
    let events = recorder.until_id(last).await;
    assert_eq!(events.len(), 20_000);
    assert!(ids(&recorder).is_sorted());
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_broker_that_is_away_costs_neither_rows_nor_the_session() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute("alter system set wal_sender_timeout = '1s'").await?;
    client.batch_execute("select pg_reload_conf()").await?;
    let recorder = Recorder::default();
    let running = start(config(&server), &recorder);
    running.until_streaming().await;
    recorder.accept(false);
    // More than every buffer between here and the server's process holds.
    client
        .batch_execute(
            "insert into outbox select lpad(n::text, 32, '0')::uuid, 'order', n::text, 'Created', jsonb_build_object('pad', repeat('x', 2000))
            from generate_series(0, 9999) n",
        )
        .await?;
    // Three times as long as Postgres waits for a sign of life.
    let query = "select coalesce(max(backend_start) < now() - interval '4 seconds', false) from pg_stat_replication where reply_time > backend_start + interval '3 seconds'";
    while !client.query_one(query, &[]).await?.try_get::<_, bool>(0)? {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(recorder.events().is_empty());
    recorder.accept(true);
    let events = recorder.until_id(&id(9_999)).await;
    assert_eq!(events.len(), 10_000, "the session that waited goes on, so nothing comes twice");
    assert_eq!(running.status.snapshot().sessions, 1);
    running.stop().await?;
    Ok(())
}
