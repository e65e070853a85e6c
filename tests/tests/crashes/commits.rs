//! The connector is killed, or cut off, around the end of a Kafka transaction.

use anyhow::Result;
use pillion_tests::proxy::{END_TXN, Fault, Proxy};
use pillion_tests::waiting::wait_for;

use crate::scene::{Scene, connector, wait_for_slot};

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_end_txn_its_transaction_is_published_by_the_next() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        let trap = scene.broker.proxy.trap(END_TXN, 3, Fault::Hold);
        trap.sprung().await;
        scene.kill_connector().await?;
        scene.restart_connector()?;
        scene.events_arrive(50).await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_with_the_answer_to_end_txn_lost_nothing_is_published_again() -> Result<()> {
    let mut scene = Scene::set().await?;
    for _ in 0..2 {
        let trap = scene.broker.proxy.trap(END_TXN, 3, Fault::LoseAnswer);
        trap.sprung().await;
        scene.kill_connector().await?;
        scene.restart_connector()?;
        scene.events_arrive(50).await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_with_the_answer_to_end_txn_does_no_harm() -> Result<()> {
    let mut scene = Scene::set().await?;
    for fault in [Fault::LoseAnswer, Fault::Hold, Fault::LoseAnswer] {
        let trap = scene.broker.proxy.trap(END_TXN, 2, fault);
        trap.sprung().await;
        scene.broker.proxy.cut();
        scene.events_arrive(50).await?;
    }
    scene.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_commit_and_confirmation_nothing_is_published_again() -> Result<()> {
    let mut scene = Scene::set().await?;
    // From now on Postgres hears nothing of the connector, and goes on sending.
    let postgres = scene.postgres.url();
    let address = postgres.split(['@', '/']).find(|part| part.starts_with("127.")).unwrap().to_owned();
    let proxy = Proxy::raw(address.parse()?).await?;
    scene.connector.terminate().await?;
    let behind = postgres.replace(&address, &proxy.address().to_string());
    scene.connector = connector(&behind, &scene.bootstrap(), &[])?;
    // What still comes may be of the one before.
    wait_for_slot(&scene.postgres).await?;
    scene.events_arrive(200).await?;

    proxy.hold_requests(true);
    let before = scene.confirmed().await?;
    scene.events_arrive(200).await?;
    assert_eq!(scene.confirmed().await?, before, "Postgres must not have heard of what was published");
    scene.kill_connector().await?;
    proxy.cut();
    scene.restart_connector()?;
    wait_for("the slot to be confirmed again", || async { Ok((scene.confirmed().await? > before).then_some(())) })
        .await?;
    scene.end().await
}
