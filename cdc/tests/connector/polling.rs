//! Polling, through the whole connector: once each, whatever dies.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use pillion_cdc::{ConnectorConfig, ConnectorError, Delivery, SnapshotMode, SourceMode, Status};
use pillion_test_postgres::Server;

use crate::recorder::Recorder;
use crate::{config, id, ids, insert, start};

fn polling(server: &Server) -> ConnectorConfig {
    let mut config = config(server);
    config.source_options.mode = SourceMode::Polling;
    config.source_options.snapshot = SnapshotMode::Initial;
    config.source_options.poll_interval = Duration::from_millis(10);
    config
}

#[tokio::test]
async fn each_row_is_published_once_in_order_though_connector_and_postgres_die() -> Result<()> {
    let mut server = Server::start().await?;
    let recorder = Recorder::default();
    let mut next = 0;
    let mut running = start(polling(&server), &recorder);
    running.until_streaming().await;
    for round in 0..4 {
        let client = server.connect().await?;
        for _ in 0..50 {
            insert(&client, "outbox", next).await?;
            next += 1;
        }
        if round % 2 == 0 {
            running.task.abort();
            assert!(running.task.await.unwrap_err().is_cancelled());
            insert(&client, "outbox", next).await?;
            next += 1;
            running = start(polling(&server), &recorder);
        } else {
            server.kill()?;
            server.restart().await?;
        }
    }
    recorder.until_id(&id(next - 1)).await;
    assert_eq!(ids(&recorder), (0..next).map(id).collect::<Vec<_>>());
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_look_larger_than_what_may_be_in_flight_is_published_through_and_a_second_connector_takes_over() -> Result<()>
{
    let server = Server::start().await?;
    let client = server.connect().await?;
    let mut config = polling(&server);
    config.bytes_in_flight_max = 64 * 1024;
    let recorder = Recorder::default();
    let first = start(config.clone(), &recorder);
    first.until_streaming().await;
    client
        .batch_execute(
            "insert into outbox (id, aggregatetype, aggregateid, type, payload)
             select ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, 'order', 'a', 'Created',
                 to_jsonb(repeat('x', 1000)) from generate_series(0, 999) g",
        )
        .await?;
    config.status = Status::default();
    let second = start(config, &recorder);
    recorder.until_id(&id(999)).await;
    assert_eq!(ids(&recorder), (0..1000).map(id).collect::<Vec<_>>(), "in the order of the statement");
    assert_eq!(second.status.snapshot().sessions, 0, "the second one waits");
    first.stop().await?;
    insert(&client, "outbox", 1000).await?;
    recorder.until_id(&id(1000)).await;
    assert_eq!(ids(&recorder).into_iter().collect::<BTreeSet<_>>().len(), 1001);
    assert_eq!(ids(&recorder).len(), 1001);
    second.stop().await?;
    Ok(())
}

#[tokio::test]
async fn at_least_once_has_no_progress_record_and_is_refused() -> Result<()> {
    let server = Server::start().await?;
    let mut config = polling(&server);
    config.delivery = Delivery::AtLeastOnce;
    let error = start(config, &Recorder::default()).task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Config(_)), "{error}");
    assert!(error.to_string().contains("only delivery=exactly-once writes"), "{error}");
    Ok(())
}
