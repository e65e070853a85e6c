//! Publishing again what is still in the table.

use anyhow::Result;
use pillion_cdc::outbox::{self, RepublishError, RepublishFrom, Setup};
use pillion_cdc::{ConnectorConfig, OnError};
use pillion_test_postgres::Server;
use tokio_postgres::Client;

use crate::recorder::Recorder;
use crate::{config, id, ids, insert, start, until};

async fn republished(config: &ConnectorConfig, from: &str) -> Result<Vec<String>> {
    let recorder = Recorder::idempotent();
    let from: RepublishFrom = from.parse()?;
    let plan = outbox::plan(config, &from).await?;
    let done = outbox::republish_with(config, &from, &recorder).await?;
    let planned: u64 = plan.tables.iter().map(|table| table.rows).sum();
    assert_eq!(planned, done.topics.values().sum::<u64>() + done.left_out.len() as u64);
    Ok(ids(&recorder))
}

async fn text(client: &Client, query: &str) -> Result<String> {
    Ok(client.query_one(query, &[]).await?.try_get(0)?)
}

#[tokio::test]
async fn records_are_those_that_the_connector_sent_from_the_named_event_on() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    let first = Recorder::default();
    let running = start(config.clone(), &first);
    running.until_streaming().await;
    for number in 0..1200 {
        insert(&client, "outbox", number).await?;
    }
    client.batch_execute("update outbox set tracingspancontext = null").await?;
    let before = first.until_id(&id(1199)).await;
    let status = running.status.clone();
    until("publishing", || status.snapshot().rows_published == 1200).await;

    let again = Recorder::idempotent();
    let from = RepublishFrom::Id(id(10));
    let error = outbox::republish_with(&config, &from, &again).await.unwrap_err();
    assert!(matches!(error, RepublishError::Running { .. }), "{error}");
    assert!(again.events().is_empty());
    running.stop().await?;
    while text(&client, "select count(*)::text from pg_replication_slots where active").await? != "0" {}

    outbox::republish_with(&config, &from, &again).await?;
    let again = again.events();
    assert_eq!(again.len(), 1190);
    for (before, again) in before[10..].iter().zip(&again) {
        assert_eq!((&before.topic, &before.key, &before.value), (&again.topic, &again.key, &again.value));
        assert_eq!(before.record_headers(), again.record_headers());
    }
    assert!(matches!(
        outbox::plan(&config, &RepublishFrom::Id("none".to_owned())).await,
        Err(RepublishError::NoEvent { .. })
    ));
    Ok(())
}

#[tokio::test]
async fn a_time_chooses_rows_by_their_column() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    for number in 0..4 {
        insert(&client, "outbox", number).await?;
        let day =
            format!("update outbox set created_at = '2026-01-0{}T12:00Z' where id = '{}'", 4 - number, id(number));
        client.batch_execute(&day).await?;
    }
    assert_eq!(republished(&config, "2026-01-02T12:00:00Z").await?, [2, 1, 0].map(id));
    assert_eq!(republished(&config, "2026-01-04").await?, [id(0)]);
    assert_eq!(republished(&config, &id(1)).await?, [1, 0].map(id));
    Ok(())
}

#[tokio::test]
async fn a_position_chooses_rows_by_their_commits_and_in_their_order() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    insert(&client, "outbox", 0).await?;
    // Begun before the position and committed after it, in a subtransaction, and after one that began later.
    let mut late = server.connect().await?;
    let mut transaction = late.transaction().await?;
    let savepoint = transaction.savepoint("nested").await?;
    insert(&savepoint, "outbox", 3).await?;
    savepoint.commit().await?;
    let position = text(&client, "select pg_current_wal_insert_lsn()::text").await?;
    insert(&client, "outbox", 1).await?;
    insert(&client, "outbox", 2).await?;
    transaction.commit().await?;

    let from: RepublishFrom = position.parse()?;
    let error = outbox::plan(&config, &from).await.unwrap_err();
    assert!(error.to_string().contains("CREATE EXTENSION pg_walinspect"), "{error}");
    client.batch_execute("create extension pg_walinspect").await?;
    assert_eq!(republished(&config, &position).await?, [1, 2, 3].map(id));
    let error = outbox::plan(&config, &"FF/0".parse()?).await.unwrap_err();
    assert!(matches!(error, RepublishError::NoWal { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_row_no_record_can_be_made_of_stops_or_is_left_out_as_configured() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let mut config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    for number in 0..3 {
        insert(&client, "outbox", number).await?;
    }
    client.batch_execute(&format!("update outbox set aggregatetype = '/' where id = '{}'", id(1))).await?;
    let recorder = Recorder::idempotent();
    let error = outbox::republish_with(&config, &RepublishFrom::Id(id(0)), &recorder).await.unwrap_err();
    assert!(error.to_string().contains(&id(1)), "{error}");
    assert_eq!(ids(&recorder), [id(0)]);
    config.on_error = OnError::Skip;
    assert_eq!(republished(&config, &id(0)).await?, [0, 2].map(id));
    Ok(())
}
