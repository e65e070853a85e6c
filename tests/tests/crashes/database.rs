//! Postgres is killed, goes back in time, or begins another timeline.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use pillion_tests::ledger::Breach;
use pillion_tests::waiting::{PATIENCE, wait_for};
use pillion_tests::writers::Writers;

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_a_crash_of_postgres_set_back_repeats_nothing() -> Result<()> {
    let mut scene = Scene::set().await?;
    // Now and then Postgres has just written the slot's position for a reason of its own; then it is tried again.
    let mut was_set_back = 0;
    for _ in 0..8 {
        scene.events_arrive(200).await?;
        let before = scene.confirmed().await?;
        scene.kill_connector().await?;
        scene.postgres.kill()?;
        scene.postgres.restart().await?;
        was_set_back += usize::from(scene.confirmed().await? < before);
        scene.restart_connector()?;
        scene.events_arrive(100).await?;
        if was_set_back == 2 {
            break;
        }
    }
    assert_eq!(was_set_back, 2, "the crashes are to set the slot back");
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_killed_under_a_running_connector_loses_and_repeats_nothing() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        scene.events_arrive(100).await?;
        scene.postgres.kill()?;
        scene.postgres.restart().await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_lacks_what_was_published_halts_the_connector_until_told_otherwise() -> Result<()> {
    let mut scene = Scene::set().await?;
    let url = scene.postgres.url();
    let writers = |prefix, count| Writers::of_keys(prefix, &url, count, Duration::from_millis(2));
    // The state of now is what is restored later: everything is published, and the slot says so on disk too.
    let rows = std::mem::replace(&mut scene.writers, writers("none", 0)).stop().await?;
    scene.reader.read_all(&rows, PATIENCE).await?;
    scene.connector.terminate().await?;
    // Before version 17 Postgres writes a slot's newest position for no checkpoint's sake alone.
    let save = "SELECT pg_replication_slot_advance(slot_name, confirmed_flush_lsn) FROM pg_replication_slots";
    scene.postgres.connect().await?.batch_execute(&format!("{save}; CHECKPOINT")).await?;
    scene.postgres.kill()?;
    let data = scene.postgres.data();
    let backup = data.with_extension("backup");
    copy(&data, &backup)?;
    scene.postgres.restart().await?;
    scene.restart_connector()?;
    scene.writers = writers("gone", 3);
    scene.events_arrive(200).await?;
    std::mem::replace(&mut scene.writers, writers("none", 0)).stop().await?;

    scene.kill_connector().await?;
    scene.postgres.kill()?;
    std::fs::remove_dir_all(&data)?;
    std::fs::rename(&backup, &data)?;
    scene.postgres.restart().await?;
    scene.restart_connector()?;
    let status = scene.connector.ended().await?;
    let log = scene.connector.log();
    assert!(!status.success() && log.contains("accept.timeline"), "{status}: {log}");

    scene.restart_connector_with(&["accept.timeline=true"])?;
    scene.writers = writers("later", 3);
    scene.events_arrive(100).await?;
    let rows = scene.writers.stop().await?;
    scene.reader.read_all(&rows, PATIENCE).await?;
    // What was written after the backup was seen, and is gone; all the rest came once and in order.
    let breaches = scene.reader.ledger.audit(&rows);
    let are_gone =
        breaches.iter().all(|breach| matches!(breach, Breach::Unknown(event) if event.key.starts_with("gone")));
    assert!(!breaches.is_empty() && are_gone, "{breaches:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_timeline_halts_the_connector_until_it_is_accepted() -> Result<()> {
    let mut scene = Scene::set().await?;
    scene.kill_connector().await?;
    scene.postgres.kill()?;
    std::fs::write(scene.postgres.data().join("standby.signal"), "")?;
    scene.postgres.restart().await?;
    let client = scene.postgres.connect().await?;
    client.batch_execute("SELECT pg_promote()").await?;
    // The new timeline is that of the next checkpoint.
    client.batch_execute("CHECKPOINT").await?;
    wait_for("the new timeline", || async {
        let timeline: i32 = client.query_one("SELECT timeline_id FROM pg_control_checkpoint()", &[]).await?.get(0);
        Ok((timeline == 2).then_some(()))
    })
    .await?;

    scene.restart_connector()?;
    let status = scene.connector.ended().await?;
    let log = scene.connector.log();
    assert!(!status.success() && log.contains("accept.timeline"), "{status}: {log}");
    scene.restart_connector_with(&["accept.timeline=true"])?;
    scene.end().await
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(status.success(), "cannot copy {}", from.display());
    Ok(())
}
