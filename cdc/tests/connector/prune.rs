//! Pruning removes what is old and published, and nothing else.

use std::time::Duration;

use anyhow::Result;
use pillion_cdc::ConnectorConfig;
use pillion_cdc::outbox::{self, Interval, PruneError, PruneOptions, Pruned, Setup};
use pillion_test_postgres::Server;
use tokio_postgres::Client;

use crate::recorder::Recorder;
use crate::{config, id, insert, start};

const WEEK: Duration = Duration::from_secs(7 * 86_400);

fn options() -> PruneOptions {
    PruneOptions { older_than: WEEK, batch: 100, wait: Duration::from_secs(60), dry_run: false }
}

async fn prune(config: &ConnectorConfig) -> Result<Pruned> {
    Ok(outbox::prune(config, &options()).await?.remove(0))
}

async fn count(client: &Client, table: &str) -> Result<i64> {
    Ok(client.query_one(&format!("select count(*) from {table}"), &[]).await?.try_get(0)?)
}

/// Inserts a row that was written `days` ago, if its column is to be believed.
async fn insert_old(client: &impl tokio_postgres::GenericClient, number: u64, days: u32) -> Result<()> {
    let statement = format!(
        "insert into outbox (id, aggregatetype, aggregateid, type, created_at)
        values ('{}', 'order', '1', 'Created', now() - interval '{days} days')",
        id(number)
    );
    Ok(client.batch_execute(&statement).await?)
}

#[tokio::test]
async fn nothing_goes_while_the_connector_is_behind_and_the_old_goes_once_it_has_caught_up() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let recorder = Recorder::default();
    let config = config(&server);
    let running = start(config.clone(), &recorder);
    running.until_streaming().await;
    recorder.accept(false);
    for number in 0..300 {
        insert_old(&client, number, 8).await?;
    }
    insert_old(&client, 300, 6).await?;
    let impatient = PruneOptions { wait: Duration::from_millis(600), ..options() };
    let error = outbox::prune(&config, &impatient).await.unwrap_err();
    assert!(matches!(error, PruneError::Behind { .. }), "{error}");
    assert!(error.to_string().contains("bytes short of"), "{error}");
    assert_eq!(count(&client, "outbox").await?, 301);

    recorder.accept(true);
    let counted = outbox::prune(&config, &PruneOptions { dry_run: true, ..options() }).await?;
    assert_eq!((counted[0].rows, count(&client, "outbox").await?), (300, 301));
    assert_eq!(prune(&config).await?.rows, 300);
    assert_eq!(count(&client, "outbox").await?, 1);
    recorder.until_id(&id(300)).await;
    assert_eq!(prune(&config).await?.rows, 0);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn rows_beside_a_transaction_that_is_still_open_stay_for_the_next_time() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;
    let mut late = server.connect().await?;
    let mut transaction = late.transaction().await?;
    insert_old(&transaction, 1, 8).await?;
    // A subtransaction has a number of its own, and is committed only with the whole.
    let savepoint = transaction.savepoint("nested").await?;
    insert_old(&savepoint, 2, 8).await?;
    savepoint.commit().await?;
    insert_old(&client, 3, 8).await?;
    assert_eq!(prune(&config).await?.rows, 0, "the open transaction is older than the third row's");
    transaction.commit().await?;
    assert_eq!(count(&client, "outbox").await?, 3);
    assert_eq!(prune(&config).await?.rows, 3);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn old_partitions_are_dropped_whole_and_the_coming_ones_made() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    let setup = Setup { partitions: Some(Interval::Day), ..Setup::default() };
    outbox::apply(&config.postgres, &config.source(), &setup).await?;
    let days = |ago: i32, name: &str| {
        format!(
            "do $$ begin execute format('create table {name} partition of outbox for values from (%L) to (%L)',
            date_trunc('day', now(), 'UTC') - {ago} * interval '1 day', date_trunc('day', now(), 'UTC') - {} * interval '1 day'); end $$",
            ago - 1
        )
    };
    for (ago, name) in [(20, "outbox_old"), (15, "outbox_busy"), (3, "outbox_young")] {
        client.batch_execute(&days(ago, name)).await?;
        insert_old(&client, ago.try_into()?, ago.try_into()?).await?;
    }
    // Fits no partition, so it lies in the default one.
    insert_old(&client, 40, 40).await?;
    let tomorrow = "select 'drop table ' || c.oid::regclass from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'outbox'::regclass order by c.relname desc limit 1 offset 3";
    let made_ahead: String = client.query_one(tomorrow, &[]).await?.try_get(0)?;
    client.batch_execute(&made_ahead).await?;
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;

    let mut writer = server.connect().await?;
    let transaction = writer.transaction().await?;
    insert_old(&transaction, 15, 15).await?;
    let pruned = prune(&config).await?;
    assert!(pruned.partitions.is_empty() && pruned.kept[0].contains("outbox_old is in use"), "{pruned:?}");
    assert_eq!((pruned.kept.len(), pruned.rows), (2, 1), "rows one by one are in nobody's way");
    transaction.commit().await?;
    let counted = outbox::prune(&config, &PruneOptions { dry_run: true, ..options() }).await?.remove(0);
    let pruned = prune(&config).await?;
    assert_eq!(pruned.partitions, ["public.outbox_old", "public.outbox_busy"]);
    assert_eq!((counted.partitions, counted.rows, pruned.kept), (pruned.partitions, 0, vec![]));
    assert_eq!(count(&client, "outbox").await?, 1);
    let is_back = made_ahead.replace("drop table ", "select count(*) from ");
    assert_eq!(client.query_one(&is_back, &[]).await?.try_get::<_, i64>(0)?, 0);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn a_table_without_times_goes_by_its_commits_where_they_are_kept() -> Result<()> {
    let mut server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    client.batch_execute("alter table outbox drop column created_at").await?;
    let dry = PruneOptions { dry_run: true, older_than: Duration::ZERO, ..options() };
    let error = outbox::prune(&config, &dry).await.unwrap_err();
    assert!(error.to_string().contains("track_commit_timestamp"), "{error}");
    client.batch_execute("alter system set track_commit_timestamp = on").await?;
    server.kill()?;
    server.restart().await?;
    let client = server.connect().await?;
    insert(&client, "outbox", 1).await?;
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;
    assert_eq!(prune(&config).await?.rows, 0, "it was written just now");
    let all = PruneOptions { older_than: Duration::ZERO, ..options() };
    assert_eq!(outbox::prune(&config, &all).await?[0].rows, 1);
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn the_role_that_init_makes_may_prune() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let mut config = config(&server);
    config.auto_init = false;
    let setup = Setup { role: Some("relay".to_owned()), partitions: Some(Interval::Day) };
    outbox::apply(&config.postgres, &config.source(), &setup).await?;
    config.postgres = server.url().replace("postgres@", "relay@").parse()?;
    let running = start(config.clone(), &Recorder::default());
    running.until_streaming().await;
    insert_old(&client, 1, 30).await?;
    assert_eq!(prune(&config).await?.rows, 1);
    let health = outbox::health(&config).await?;
    assert!(health.slot.is_some_and(|slot| slot.holder.is_some() && !slot.is_lost));
    running.stop().await?;
    Ok(())
}

#[tokio::test]
async fn without_a_slot_nothing_is_known_to_be_published() -> Result<()> {
    let server = Server::start().await?;
    let client = server.connect().await?;
    let config = config(&server);
    outbox::apply(&config.postgres, &config.source(), &Setup::default()).await?;
    client.batch_execute("select pg_drop_replication_slot('pillion')").await?;
    let error = outbox::prune(&config, &options()).await.unwrap_err();
    assert!(matches!(error, PruneError::NoSlot(_)), "{error}");
    Ok(())
}
