//! An outbox in its life, from the command line: looked at, pruned, and published again to a cluster that lost it.

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use serde_json::Value;

use super::consumed::{group_member, read_until};
use super::sidecar::{Broker, connector};

/// Runs one of the commands about this database and broker.
async fn pillion(postgres: &Server, broker: &str, arguments: &[&str]) -> Result<(bool, String, String)> {
    let mut command = program::command("pillion")?;
    command.args(arguments).args(["--postgres", &postgres.url(), "--bootstrap", broker]);
    let output = command.output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

async fn json(postgres: &Server, broker: &str, arguments: &[&str]) -> Result<Value> {
    let (_, stdout, stderr) = pillion(postgres, broker, arguments).await?;
    let document: Value = serde_json::from_str(&stdout).with_context(|| format!("{stdout}{stderr}"))?;
    Ok(document[0].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outbox_is_looked_at_pruned_and_published_again() -> Result<()> {
    let postgres = Server::start().await?;
    let client = postgres.connect().await?;
    let mut broker = Broker::start(&[]).await?;
    let address = broker.address().to_owned();

    let before = json(&postgres, &address, &["doctor", "--json"]).await?;
    ensure!(before["ready"] == false, "{before}");
    let checks: Vec<&str> =
        before["checks"].as_array().into_iter().flatten().filter_map(|one| one["check"].as_str()).collect();
    ensure!(checks.starts_with(&["connection", "server", "role"]), "{checks:?}");
    ensure!(checks.ends_with(&["broker", "topics", "transactions"]), "{checks:?}");
    let (is_well, stdout, stderr) = pillion(&postgres, &address, &["doctor"]).await?;
    ensure!(!is_well && stdout.contains("pillion outbox init") && stderr.contains("checks failed"), "{stdout}{stderr}");
    let (has_slot, _, stderr) = pillion(&postgres, &address, &["outbox", "status"]).await?;
    ensure!(!has_slot && stderr.contains("does not exist"), "{stderr}");

    let mut relay = Program::start_silent("pillion cdc", connector(&postgres, &address, &[])?)?;
    wait_for("the connector", || async {
        let ready = json(&postgres, &address, &["doctor", "--json"]).await?;
        Ok((ready["ready"] == true && ready.to_string().contains("streamed from by")).then_some(()))
    })
    .await
    .with_context(|| relay.log())?;
    for (number, days) in [(1, 9), (2, 8), (3, 0)] {
        let insert = format!(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, created_at)
             VALUES ('00000000-0000-0000-0000-00000000000{number}', 'order', '1', 'Placed', '{{}}', now() - interval '{days} days')"
        );
        client.batch_execute(&insert).await?;
    }
    let status = wait_for("the last row's progress", || async {
        let status = json(&postgres, &address, &["outbox", "status", "--json"]).await?;
        let last = status["progress"]["lastEventId"].as_str().unwrap_or_default().to_owned();
        Ok(last.ends_with('3').then_some(status))
    })
    .await
    .with_context(|| relay.log())?;
    ensure!(status["slot"]["walStatus"] == "reserved" && status["deadLetters"] == 0, "{status}");
    ensure!(status["tables"][0]["table"] == "public.outbox", "{status}");
    let (is_well, stdout, stderr) = pillion(&postgres, &address, &["outbox", "status"]).await?;
    ensure!(
        is_well && stdout.contains("held by pillion pillion") && stdout.contains("max_slot_wal_keep_size"),
        "{stdout}{stderr}"
    );

    let prune = ["outbox", "prune", "--older-than", "7d"];
    let (_, stdout, _) = pillion(&postgres, &address, &[&prune[..], &["--dry-run"]].concat()).await?;
    ensure!(stdout == "public.outbox: 2 rows would be deleted\n", "{stdout}");
    let (_, stdout, stderr) = pillion(&postgres, &address, &prune).await?;
    ensure!(stdout == "public.outbox: 2 rows deleted\n", "{stdout}{stderr}");

    let republish = ["outbox", "republish", "--from", "00000000-0000-0000-0000-000000000003"];
    let (is_done, _, stderr) = pillion(&postgres, &address, &republish).await?;
    ensure!(!is_done && stderr.contains("stop that connector first"), "{stderr}");
    relay.terminate().await?;
    // The cluster's volume is gone.
    broker = Broker::start(&[]).await?;
    let (is_done, stdout, stderr) = pillion(&postgres, broker.address(), &republish).await?;
    ensure!(is_done && stdout.contains("outbox.event.order: 1 records"), "{stdout}{stderr}");
    let reader = group_member(broker.address(), "reader", &["outbox.event.order"])?;
    let read = read_until(&reader, |read| !read.is_empty()).await?;
    ensure!(read[0].header("id") == Some("00000000-0000-0000-0000-000000000003"), "{read:?}");
    Ok(())
}
