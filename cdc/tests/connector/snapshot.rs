//! `snapshot=initial`: rows that were there before the slot, once, whatever step the connector dies at.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use pillion_cdc::{ConnectorConfig, ConnectorError, Lsn, Progress, SnapshotMode, Status};
use pillion_test_postgres::Server;
use tokio_postgres::Client;

use crate::recorder::Recorder;
use crate::{config, id, ids, insert, start, until};

fn initial(server: &Server) -> ConnectorConfig {
    let mut config = config(server);
    config.source_options.snapshot = SnapshotMode::Initial;
    config
}

/// An outbox with rows 0 to 4, and no slot.
async fn with_rows(server: &Server) -> Result<Client> {
    let client = server.connect().await?;
    client
        .batch_execute(
            "create table outbox (id uuid primary key, aggregatetype text, aggregateid text, type text, payload jsonb)",
        )
        .await?;
    for number in 0..5 {
        insert(&client, "outbox", number).await?;
    }
    Ok(client)
}

fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(id).collect()
}

/// Runs a connector until it has made the slot and written down which rows come before it, and has published none.
async fn died_before_the_first_row(server: &Server) -> Result<Progress> {
    let recorder = Recorder::default();
    recorder.accept(false);
    let running = start(initial(server), &recorder);
    let has_begun = || recorder.progress().is_some_and(|progress| progress.snapshot.is_some());
    until("the snapshot's record", has_begun).await;
    let client = server.connect().await?;
    let active = "select count(*) > 0 from pg_replication_slots where slot_name = 'pillion' and active";
    while !client.query_one(active, &[]).await?.get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.task.abort();
    assert!(running.task.await.unwrap_err().is_cancelled());
    assert_eq!(recorder.events(), []);
    until_free(&client).await?;
    Ok(recorder.progress().unwrap())
}

/// The server notices a moment later that a connector is gone.
async fn until_free(client: &Client) -> Result<()> {
    let is_free = "select count(*) = 0 from pg_replication_slots where active";
    while !client.query_one(is_free, &[]).await?.get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn rows_that_are_there_come_first_and_then_the_stream() -> Result<()> {
    let server = Server::start().await?;
    let client = with_rows(&server).await?;
    let recorder = Recorder::default();
    let running = start(initial(&server), &recorder);
    recorder.until_id(&id(4)).await;
    insert(&client, "outbox", 5).await?;
    recorder.until_id(&id(5)).await;
    assert_eq!(ids(&recorder), numbers(0..6));
    until("the end of the snapshot", || recorder.progress().is_some_and(|progress| progress.snapshot.is_none())).await;
    running.stop().await?;

    insert(&client, "outbox", 6).await?;
    let running = start(initial(&server), &recorder);
    recorder.until_id(&id(6)).await;
    assert_eq!(ids(&recorder), numbers(0..7), "there is one snapshot");
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn an_empty_table_and_a_restart_right_after_cost_nothing() -> Result<()> {
    let server = Server::start().await?;
    let recorder = Recorder::default();
    let running = start(initial(&server), &recorder);
    let is_over = || recorder.progress().is_some_and(|progress| progress.snapshot.is_none());
    until("the end of the snapshot", is_over).await;
    insert(&server.connect().await?, "outbox", 0).await?;
    recorder.until_id(&id(0)).await;
    running.stop().await?;
    assert_eq!(ids(&recorder), [id(0)]);
    Ok(())
}

#[tokio::test]
async fn a_snapshot_whose_slot_was_never_made_is_taken_anew() -> Result<()> {
    let server = Server::start().await?;
    let client = with_rows(&server).await?;
    let progress = died_before_the_first_row(&server).await?;
    client.batch_execute("select pg_drop_replication_slot('pillion')").await?;
    // No stream has these.
    insert(&client, "outbox", 5).await?;
    let recorder = Recorder::that_has(Some(progress));
    let running = start(initial(&server), &recorder);
    recorder.until_id(&id(5)).await;
    assert_eq!(ids(&recorder), numbers(0..6));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_snapshot_that_broke_off_is_completed_as_it_was_taken_and_the_stream_follows() -> Result<()> {
    for published in [0, 3, 5] {
        let server = Server::start().await?;
        let client = with_rows(&server).await?;
        let mut progress = died_before_the_first_row(&server).await?;
        if published > 0 {
            progress.commit_lsn = progress.end_lsn;
            progress.ordinal = published;
            progress.last_event_id = Some(id(published - 1).into());
        }
        // Published rows may go; rows that came since belong to the stream.
        client.batch_execute(&format!("delete from outbox where id = '{}' and {published} > 1", id(0))).await?;
        insert(&client, "outbox", 5).await?;
        let recorder = Recorder::that_has(Some(progress));
        let running = start(initial(&server), &recorder);
        recorder.until_id(&id(5)).await;
        assert_eq!(ids(&recorder), numbers(published..6), "{published} were published");
        running.stop().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_slot_of_someone_elses_and_a_slot_that_is_gone_are_refused_with_what_to_do() -> Result<()> {
    let server = Server::start().await?;
    let client = with_rows(&server).await?;
    let made = Recorder::default();
    let running = start(config(&server), &made);
    running.until_streaming().await;
    running.stop().await?;
    let error = start(initial(&server), &Recorder::default()).task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Start(_)), "{error}");
    assert!(error.to_string().contains("with snapshot=initial, drop an unused slot"), "{error}");

    insert(&client, "outbox", 5).await?;
    let running = start(config(&server), &made);
    made.until_id(&id(5)).await;
    running.stop().await?;
    until_free(&client).await?;
    client.batch_execute("select pg_drop_replication_slot('pillion')").await?;
    let error = start(initial(&server), &made).task.await?.unwrap_err();
    assert!(error.to_string().contains("pillion outbox republish --from"), "{error}");
    Ok(())
}

/// Transactions under savepoints, some of them open while the snapshot is taken.
async fn write(client: Client, writer: u64, count: u64) -> Result<()> {
    for number in 0..count {
        let row = writer * 1000 + number;
        client
            .batch_execute(&format!(
                "begin; select pg_current_xact_id(); savepoint s;
                 insert into outbox (id, aggregatetype, aggregateid, type, payload)
                 values ('{}', 'order', '{writer}', 'Created', '{number}'); select pg_sleep(0.003 * {}); commit",
                id(row),
                number % 4
            ))
            .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_among_writers_neither_loses_nor_repeats_a_row_though_the_connector_dies_again_and_again()
-> Result<()> {
    const WRITERS: u64 = 8;
    const ROWS: u64 = 120;
    let server = Server::start().await?;
    let client = with_rows(&server).await?;
    client.batch_execute("truncate outbox").await?;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(server.connect().await?, writer, ROWS));
    }
    let recorder = Recorder::default();
    let mut lifetime = Duration::from_millis(20);
    loop {
        let mut config = initial(&server);
        config.status = Status::default();
        let running = start(config, &recorder);
        if writers.is_empty() {
            until("every row", || ids(&recorder).len() as u64 >= WRITERS * ROWS).await;
            running.stop().await?;
            break;
        }
        // It dies after ever longer times: at every step sooner or later.
        tokio::time::sleep(lifetime).await;
        lifetime += Duration::from_millis(35);
        running.task.abort();
        assert!(running.task.await.unwrap_err().is_cancelled());
        while let Some(written) = writers.try_join_next() {
            written??;
        }
    }
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    for id in ids(&recorder) {
        let row: u64 = id[24..].parse()?;
        let expected = next.entry(row / 1000).or_default();
        assert_eq!(row % 1000, *expected, "writer {}", row / 1000);
        *expected += 1;
    }
    assert!(next.values().all(|rows| *rows == ROWS), "{next:?}");
    assert!(recorder.progress().is_some_and(|progress| progress.end_lsn > Lsn::ZERO));
    Ok(())
}
