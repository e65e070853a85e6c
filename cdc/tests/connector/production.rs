//! What happens to databases in production while a connector runs, and what it says then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use pillion_cdc::ConnectorConfig;
use pillion_cdc::outbox::{self, Setup};
use pillion_test_postgres::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::doctor::lose_the_slot;
use crate::recorder::Recorder;
use crate::{Running, config, id, insert, start, until};

/// Waits for the connector's end, whose reason must contain all of `expected`.
async fn assert_ends_with(running: Running, expected: &[&str]) -> Result<()> {
    let status = running.status.clone();
    running.task.await?.unwrap_err();
    let said = status.snapshot().last_error.unwrap_or_default();
    for expected in expected {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    Ok(())
}

fn set_up_by_hand(server: &Server) -> ConnectorConfig {
    ConnectorConfig { auto_init: false, ..config(server) }
}

#[tokio::test]
async fn a_publication_dropped_while_running_is_named_and_so_is_the_way_over_the_gap() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = set_up_by_hand(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;
    client.batch_execute("drop publication pillion_outbox").await?;
    insert(&client, "outbox", 1).await?;
    assert_ends_with(running, &["publication pillion_outbox does not exist: run `pillion outbox init`"]).await?;

    // From version 18 on the server passes over what it cannot decode, and goes on.
    if client.query_one("select current_setting('server_version_num')::int >= 180000", &[]).await?.try_get(0)? {
        return Ok(());
    }
    // Made again, it is not there yet at the row the slot stands before. What was recorded with it is gone too.
    let config = ConnectorConfig { adopt_slot: true, ..config };
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    let running = start(config, &Recorder::default());
    assert_ends_with(running, &["drop the slot", "pillion outbox republish"]).await
}

#[tokio::test]
async fn a_table_taken_out_of_the_publication_while_running_is_not_passed_over() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = set_up_by_hand(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    let running = start(config, &Recorder::default());
    running.until_streaming().await;
    client.batch_execute("alter publication pillion_outbox drop table outbox").await?;
    assert_ends_with(running, &["table public.outbox is not in publication", "pillion outbox republish"]).await
}

#[tokio::test]
async fn a_slot_lost_under_a_connector_that_is_behind_ends_it_with_the_way_on() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = set_up_by_hand(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    let recorder = Recorder::default();
    let running = start(config, &recorder);
    running.until_streaming().await;
    recorder.accept(false);
    insert(&client, "outbox", 1).await?;
    lose_the_slot(&client).await?;
    recorder.accept(true);
    assert_ends_with(running, &["is invalidated", "max_slot_wal_keep_size", "outbox republish --from"]).await
}

#[tokio::test]
async fn a_slot_dropped_while_the_connector_was_away_is_missed_by_name() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = set_up_by_hand(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    let recorder = Recorder::default();
    let running = start(config.clone(), &recorder);
    running.until_streaming().await;
    insert(&client, "outbox", 1).await?;
    recorder.until_id(&id(1)).await;
    running.stop().await?;
    let gone = "select count(*) from pg_replication_slots where active";
    while client.query_one(gone, &[]).await?.try_get::<_, i64>(0)? > 0 {}
    client.batch_execute("select pg_drop_replication_slot('pillion')").await?;
    assert_ends_with(start(config, &recorder), &["replication slot pillion does not exist", "are not published"]).await
}

/// A network between client and server that can swallow what the client says.
async fn network(port: u16, swallows: Arc<AtomicBool>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let swallows = Arc::clone(&swallows);
            tokio::spawn(async move {
                let server = TcpStream::connect(("127.0.0.1", port)).await?;
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                let mut bytes = vec![0; 8192];
                loop {
                    let read = from_client.read(&mut bytes).await?;
                    if read == 0 {
                        return anyhow::Ok(());
                    }
                    if !swallows.load(Ordering::Relaxed) {
                        to_server.write_all(&bytes[..read]).await?;
                    }
                }
            });
        }
    });
    Ok(own)
}

#[tokio::test]
async fn a_stream_that_the_server_gave_up_for_silence_names_the_setting() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    client.batch_execute("alter system set wal_sender_timeout = '1s'").await?;
    client.batch_execute("select pg_reload_conf()").await?;
    let mut config = config(&server);
    let swallows = Arc::new(AtomicBool::new(false));
    let port = config.postgres.port();
    let through = network(port, Arc::clone(&swallows)).await?;
    config.postgres = server.url().replace(&format!(":{port}/"), &format!(":{through}/")).parse()?;
    let recorder = Recorder::default();
    let running = start(config, &recorder);
    running.until_streaming().await;
    swallows.store(true, Ordering::Relaxed);
    let status = running.status.clone();
    until("the reason", || {
        status.snapshot().last_error.is_some_and(|error| error.contains("raise wal_sender_timeout"))
    })
    .await;
    swallows.store(false, Ordering::Relaxed);
    insert(&client, "outbox", 1).await?;
    recorder.until_id(&id(1)).await;
    running.stop().await?;
    Ok(())
}
