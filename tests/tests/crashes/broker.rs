//! The broker is killed under load.

use anyhow::Result;

use crate::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_killed_under_load_loses_and_repeats_nothing() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..3 {
        scene.events_arrive(100).await?;
        scene.broker.kill().await?;
        scene.writers.more(100).await?;
        scene.broker.restart().await?;
        scene.events_arrive(50).await?;
    }
    scene.end().await
}
