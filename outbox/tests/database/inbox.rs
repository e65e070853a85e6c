use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use pillion_outbox::Error;
use pillion_outbox::inbox::{self, Inbox};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, IsolationLevel};
use uuid::Uuid;

use crate::service::{count, database};

/// Returns once a statement of some connection waits for another transaction.
async fn somebody_waits(watch: &Client) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(60);
    while watch.query("SELECT FROM pg_locks WHERE NOT granted", &[]).await?.is_empty() {
        ensure!(Instant::now() < deadline, "nobody waits");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn an_event_is_acted_upon_the_first_time_only() -> Result<()> {
    let (_server, mut client) = database().await?;
    let (event, other) = (Uuid::now_v7(), Uuid::now_v7());
    for (event, is_first) in [(event, true), (event, false), (other, true), (event, false)] {
        let transaction = client.transaction().await?;
        assert_eq!(inbox::once(&transaction, event).await?, is_first);
        transaction.commit().await?;
    }
    assert_eq!(count(&client, "inbox").await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_rollback_forgets_the_event_with_its_effect() -> Result<()> {
    let (_server, mut client) = database().await?;
    let event = Uuid::now_v7();
    let transaction = client.transaction().await?;
    assert!(inbox::once(&transaction, event).await?);
    assert!(!inbox::once(&transaction, event).await?, "within one transaction it is once, too");
    transaction.rollback().await?;
    let transaction = client.transaction().await?;
    assert!(inbox::once(&transaction, event).await?);
    Ok(())
}

/// Two consumers at once: the second waits for the first, whose end decides.
async fn race(first_commits: bool) -> Result<(bool, i64)> {
    let (server, mut first) = database().await?;
    first.batch_execute("CREATE TABLE effects (event uuid)").await?;
    let event = Uuid::now_v7();
    let leading = first.transaction().await?;
    assert!(inbox::once(&leading, event).await?);
    leading.execute("INSERT INTO effects VALUES ($1)", &[&event]).await?;

    let mut second = server.connect().await?;
    let trailing = tokio::spawn(async move {
        let transaction = second.transaction().await?;
        let is_first = inbox::once(&transaction, event).await?;
        if is_first {
            transaction.execute("INSERT INTO effects VALUES ($1)", &[&event]).await?;
        }
        transaction.commit().await?;
        anyhow::Ok(is_first)
    });
    somebody_waits(&server.connect().await?).await?;
    if first_commits {
        leading.commit().await?;
    } else {
        leading.rollback().await?;
    }
    let second_acts = trailing.await??;
    Ok((second_acts, count(&first, "effects").await?))
}

#[tokio::test]
async fn of_two_consumers_at_once_one_acts() -> Result<()> {
    assert_eq!(race(true).await?, (false, 1));
    Ok(())
}

#[tokio::test]
async fn a_consumer_takes_over_from_one_that_failed() -> Result<()> {
    assert_eq!(race(false).await?, (true, 1));
    Ok(())
}

#[tokio::test]
async fn at_repeatable_read_the_second_consumer_must_begin_again() -> Result<()> {
    let (server, mut first) = database().await?;
    let mut second = server.connect().await?;
    let event = Uuid::now_v7();
    let stale = second.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
    stale.query("SELECT FROM inbox", &[]).await?;
    let transaction = first.transaction().await?;
    assert!(inbox::once(&transaction, event).await?);
    transaction.commit().await?;
    let error = inbox::once(&stale, event).await.unwrap_err();
    let Error::TokioPostgres(source) = &error else { panic!("{error}") };
    assert_eq!(source.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE));
    stale.rollback().await?;
    let again = second.transaction().await?;
    assert!(!inbox::once(&again, event).await?);
    Ok(())
}

#[tokio::test]
async fn two_services_in_one_database_have_an_inbox_each() -> Result<()> {
    let (_server, mut client) = database().await?;
    client.batch_execute("CREATE SCHEMA billing; CREATE TABLE billing.inbox (LIKE inbox INCLUDING ALL)").await?;
    let billing = Inbox::new("billing.inbox".parse()?);
    let event = Uuid::now_v7();
    let transaction = client.transaction().await?;
    assert!(inbox::once(&transaction, event).await?);
    assert!(billing.once(&transaction, event).await?);
    assert!(!billing.once(&transaction, event).await?);
    Ok(())
}
