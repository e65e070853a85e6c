//! The progress topic is gone.

use anyhow::{Result, ensure};
use pillion_tests::program;

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_progress_topic_halts_the_connector_until_it_may_adopt_the_slot() -> Result<()> {
    let mut scene = Scene::set().await?;
    scene.connector.terminate().await?;
    let topics = pillion(&["topic", "list", "-b", scene.broker.address()]).await?;
    let progress = topics.split_whitespace().find(|word| word.starts_with("__pillion-progress-"));
    pillion(&["topic", "delete", progress.unwrap(), "-b", scene.broker.address()]).await?;

    scene.restart_connector()?;
    let status = scene.connector.ended().await?;
    let log = scene.connector.log();
    assert!(!status.success() && log.contains("adopt.slot"), "{status}: {log}");
    // It was stopped cleanly: the slot stands where the publishing ended.
    scene.restart_connector_with(&["adopt.slot=true"])?;
    scene.end().await
}

async fn pillion(arguments: &[&str]) -> Result<String> {
    let output = program::command("pillion")?.args(arguments).output().await?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
