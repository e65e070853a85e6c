//! Two connectors on one slot.

use anyhow::{Context, Result};
use pillion_tests::proxy::{END_TXN, Fault, Proxy};
use pillion_tests::waiting::wait_for;

use crate::scene::{Scene, connector, wait_for_slot};

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_over_from_a_killed_connector() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        let standby = connector(&scene.postgres.url(), &scene.bootstrap(), &[])?;
        scene.events_arrive(100).await?;
        scene.kill_connector().await?;
        scene.connector = standby;
        scene.events_arrive(50).await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_that_lost_its_slot_with_a_transaction_open_is_fenced_by_the_standby() -> Result<()> {
    let mut scene = Scene::set().await?;
    let trap = scene.broker.proxy.trap(END_TXN, 3, Fault::Hold);
    trap.sprung().await;
    // The standby's way to the broker is its own. The first one's walsender ends as at a network's partition.
    let address = scene.bootstrap();
    let standby = connector(&scene.postgres.url(), scene.broker.address(), &[])?;
    let client = scene.postgres.connect().await?;
    let first: i32 = client.query_one("SELECT active_pid FROM pg_replication_slots", &[]).await?.get(0);
    scene.connector.signal(rustix::process::Signal::STOP)?;
    client.execute("SELECT pg_terminate_backend($1)", &[&first]).await?;
    wait_for("the standby to have the slot", || async {
        let active = "SELECT active_pid FROM pg_replication_slots WHERE active_pid <> $1";
        Ok(client.query_opt(active, &[&first]).await?.map(drop))
    })
    .await
    .with_context(|| standby.log())?;
    scene.events_arrive(100).await.with_context(|| standby.log())?;

    // The zombie comes back, and its EndTxn goes its way.
    assert_eq!(address, scene.bootstrap());
    trap.release();
    scene.connector.signal(rustix::process::Signal::CONT)?;
    scene.events_arrive(200).await.with_context(|| standby.log())?;
    let mut first = std::mem::replace(&mut scene.connector, standby);
    // It waits for the slot, or has said that another one took its place; either way it can go.
    first.kill().await?;
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_cut_off_from_postgres_gives_way_to_the_standby() -> Result<()> {
    let mut scene = Scene::set_with(&["wal_sender_timeout=1s"]).await?;
    let url = scene.postgres.url();
    let address = url.split(['@', '/']).find(|part| part.starts_with("127.")).unwrap().to_owned();
    let proxy = Proxy::raw(address.parse()?).await?;
    scene.connector.terminate().await?;
    scene.connector = connector(&url.replace(&address, &proxy.address().to_string()), &scene.bootstrap(), &[])?;
    wait_for_slot(&scene.postgres).await?;
    scene.events_arrive(200).await?;
    let standby = connector(&url, &scene.bootstrap(), &[])?;
    proxy.hold_requests(true);
    proxy.hold_answers(true);
    scene.events_arrive(200).await.with_context(|| standby.log())?;
    let mut first = std::mem::replace(&mut scene.connector, standby);
    proxy.hold_requests(false);
    proxy.hold_answers(false);
    scene.events_arrive(100).await?;
    first.kill().await?;
    scene.end().await
}
