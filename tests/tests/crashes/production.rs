//! What production does to a connector without killing anything.

use std::time::Duration;

use anyhow::{Context, Result};
use pillion_tests::waiting::wait_for;
use rustix::process::Signal;

use crate::scene::Scene;

/// 20 MB in one transaction, more than the connector keeps in memory.
const BULK: &str = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
    SELECT gen_random_uuid(), 'order', 'bulk', 'OrderPlaced', jsonb_build_object('number', n, 'pad', repeat('x', 480))
    FROM generate_series(1, 40000) AS n";

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_outbox_beside_a_busy_table_holds_no_wal_and_can_be_left_at_any_time() -> Result<()> {
    let mut scene = Scene::set().await?;
    scene.pause_writers().await?;
    let client = scene.postgres.connect().await?;
    client.batch_execute("CREATE TABLE busy (text text)").await?;
    for _ in 0..2 {
        client.batch_execute("INSERT INTO busy SELECT repeat('x', 500) FROM generate_series(1, 20000)").await?;
        let end: i64 = client.query_one("SELECT (pg_current_wal_lsn() - '0/0')::bigint", &[]).await?.get(0);
        wait_for("the slot to follow", || async {
            Ok((scene.confirmed().await? >= end.cast_unsigned()).then_some(()))
        })
        .await
        .with_context(|| scene.connector.log())?;
        // What the slot was told is in the progress record: the next start finds no contradiction.
        scene.kill_connector().await?;
        scene.restart_connector()?;
    }
    scene.resume_writers();
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_takes_nothing_for_longer_than_wal_sender_timeout_costs_no_session() -> Result<()> {
    let scene = Scene::set_with(&["wal_sender_timeout=3s"]).await?;
    let client = scene.postgres.connect().await?;
    let walsender = || async {
        let active = "SELECT active_pid FROM pg_replication_slots";
        anyhow::Ok(client.query_one(active, &[]).await?.get::<_, Option<i32>>(0))
    };
    let before = walsender().await?;
    scene.broker.program.signal(Signal::STOP)?;
    client.batch_execute(BULK).await?;
    // This is the time that matters: more than twice what Postgres waits for a word.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(before.is_some() && walsender().await? == before, "{}", scene.connector.log());
    scene.broker.program.signal(Signal::CONT)?;
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_away_is_said_once_and_all_comes_when_it_is_back() -> Result<()> {
    let mut scene = Scene::set().await?;
    let count = |scene: &Scene, words: &str| scene.connector.log().matches(words).count();
    let (away, back) = ("waiting for the broker", "the broker is back");
    let before = (count(&scene, away), count(&scene, back));
    scene.broker.kill().await?;
    wait_for("the connector to say so", || async { Ok((count(&scene, away) > before.0).then_some(())) })
        .await
        .with_context(|| scene.connector.log())?;
    // Rows, and attempts to connect, that would each have something to say.
    scene.writers.more(1_000).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(count(&scene, away), before.0 + 1, "{}", scene.connector.log());
    scene.broker.restart().await?;
    wait_for("the connector to go on", || async { Ok((count(&scene, back) > before.1).then_some(())) }).await?;
    scene.end().await
}
