//! The command line as scripts rely on it.

use anyhow::{Result, ensure};
use pillion_tests::program;

use super::sidecar::Broker;

async fn pillion(arguments: &[&str]) -> Result<(bool, String, String)> {
    let output = program::command("pillion")?.args(arguments).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_brokers_first_line_is_the_address_it_answers_at() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    ensure!(broker.address().starts_with("127.0.0.1:"), "{}", broker.address());
    let (ok, _, error) = pillion(&["topic", "list", "--bootstrap", broker.address()]).await?;
    assert!(ok, "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_broker_cleanly_and_keeps_its_topics() -> Result<()> {
    let mut broker = Broker::start(&[]).await?;
    let address = broker.address().to_owned();
    let (ok, _, error) = pillion(&["topic", "create", "orders", "--partitions", "3", "-b", &address]).await?;
    assert!(ok, "{error}");
    broker.program.terminate().await?;
    assert!(broker.data().join(".kafka_cleanshutdown").exists(), "a clean stop leaves its marker");
    broker.restart().await?;
    let (ok, listed, _) = pillion(&["topic", "list", "-b", &address]).await?;
    assert!(ok && listed.contains("orders"), "{listed}");
    let (ok, described, _) = pillion(&["topic", "describe", "orders", "-b", &address]).await?;
    let partitions = described.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
    assert!(ok && partitions == 3, "{described}");
    let (ok, _, error) = pillion(&["topic", "delete", "orders", "-b", &address]).await?;
    assert!(ok, "{error}");
    let (_, listed, _) = pillion(&["topic", "list", "-b", &address]).await?;
    assert!(!listed.contains("orders"), "{listed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_answered_with_what_to_do() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().to_string_lossy().into_owned();
    let (ok, _, error) =
        pillion(&["broker", "--data-dir", &data, "--listen", "127.0.0.1:0", "--set", "num.partition=3"]).await?;
    assert!(!ok && error.contains("num.partitions"), "{error}");
    let (ok, _, error) = pillion(&["topic", "list", "-b", "127.0.0.1:1", "--timeout", "1"]).await?;
    assert!(!ok && error.contains("127.0.0.1:1"), "{error}");
    let broker = Broker::start(&[]).await?;
    let used = broker.data().to_string_lossy().into_owned();
    let (ok, _, error) = pillion(&["broker", "--data-dir", &used, "--listen", "127.0.0.1:0"]).await?;
    assert!(!ok && error.contains("in use"), "{error}");
    Ok(())
}
