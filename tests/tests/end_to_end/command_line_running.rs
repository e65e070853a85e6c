//! What the command line does to what runs: reloads, dead letters written again, measurements, generated files.

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use rustix::process::Signal;
use serde_json::Value;

use super::sidecar::{Broker, connector};

async fn pillion(arguments: &[&str]) -> Result<(bool, String, String)> {
    let output = program::command("pillion")?.args(arguments).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_reloads_what_can_be_changed_and_a_wrong_file_changes_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("pillion.toml");
    let write = |text: &str| std::fs::write(&file, text);
    write("log.level = \"error\"\nnum.partitions = 1\nlog.retention.ms = 60000\n")?;
    let mut command = program::command("pillion")?;
    command.arg("broker").arg("--data-dir").arg(folder.path().join("data")).args(["--listen", "127.0.0.1:0"]);
    command.arg("--config").arg(&file);
    let mut broker = Program::start("pillion broker", command).await?;
    let address = broker.first_line().to_owned();
    pillion(&["topic", "create", "orders", "-b", &address]).await?;
    ensure!(broker.log().is_empty(), "nothing below an error is logged: {}", broker.log());

    write("log.level = \"info\"\nnum.partitions = 2\nlog.retention.ms = 70000\n")?;
    broker.signal(Signal::HUP)?;
    wait_for("the reload", || async { Ok(broker.log().contains("wait for the next start").then_some(())) }).await?;
    ensure!(broker.log().contains("num.partitions"), "{}", broker.log());

    write("log.level = \"error\"\nnum.partitons = 2\n")?;
    broker.signal(Signal::HUP)?;
    wait_for("the refusal", || async { Ok(broker.log().contains("did you mean num.partitions?").then_some(())) })
        .await?;
    write("log.level = \"info\"\nnum.partitions = 1\n")?;
    broker.signal(Signal::HUP)?;
    wait_for("the next reload", || async {
        Ok(broker.log().contains("the configuration is reloaded\"").then_some(()))
    })
    .await?;
    broker.terminate().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kafkas_server_properties_start_a_broker() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (file, data) = (folder.path().join("server.properties"), folder.path().join("data"));
    let text = "process.roles=broker,controller\nnode.id=7\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://:9093\n\
                controller.listener.names=CONTROLLER\nnum.io.threads=8\nnum.partitions=3\n";
    std::fs::write(&file, format!("{text}log.dirs={}\n", data.display()))?;
    let mut command = program::command("pillion")?;
    command.arg("broker").arg("--config").arg(&file);
    let mut broker = Program::start("pillion broker", command).await?;
    ensure!(broker.log().contains("num.io.threads"), "what is left out is named: {}", broker.log());
    let (_, cluster, _) = pillion(&["status", "--json", "-b", broker.first_line()]).await?;
    let cluster: Value = serde_json::from_str(&cluster)?;
    ensure!(
        cluster["brokers"][0]["id"] == 7 && cluster["brokers"][0]["logDirectories"][0]["freeBytes"].is_u64(),
        "{cluster}"
    );
    broker.terminate().await?;

    std::fs::write(&file, format!("{text}ssl.keystore.location=/keys\n"))?;
    let (is_usable, stdout, _) = pillion(&["config", "check", "--config", &file.to_string_lossy()]).await?;
    ensure!(!is_usable && stdout.contains("plain text"), "{stdout}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_listed_shown_and_published_after_it_is_mended() -> Result<()> {
    let postgres = Server::start().await?;
    let client = postgres.connect().await?;
    let broker = Broker::start(&[]).await?;
    let address = broker.address().to_owned();
    let mut command = connector(&postgres, &address, &[])?;
    command.args(["--set", "on.error=dead-letter"]);
    let mut relay = Program::start_silent("pillion cdc", command)?;
    let url = postgres.url();
    wait_for("the connector", || async {
        let (is_ready, ..) = pillion(&["doctor", "--postgres", &url, "--bootstrap", &address]).await?;
        Ok(is_ready.then_some(()))
    })
    .await
    .with_context(|| relay.log())?;
    // No topic can have this name.
    let insert = "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
                  VALUES ('00000000-0000-0000-0000-000000000007', 'no topic/', '42', 'Placed', '{\"total\": 100}')";
    client.batch_execute(insert).await?;
    let list = ["dead-letter", "list", "--json", "-b", &address];
    let listed = wait_for("the dead letter", || async {
        let (_, stdout, _) = pillion(&list).await?;
        Ok(serde_json::from_str::<Value>(&stdout).ok())
    })
    .await
    .with_context(|| relay.log())?;
    let id = "00000000-0000-0000-0000-000000000007";
    ensure!(listed["id"] == id && listed["table"] == "public.outbox" && listed["partition"] == 0, "{listed}");
    let place = format!("0:{}", listed["offset"]);
    let (_, shown, _) = pillion(&["dead-letter", "show", &place, "-b", &address]).await?;
    ensure!(shown.contains("pillion.dead-letter.reason") && shown.contains("\"aggregateid\": \"42\""), "{shown}");

    let replay = ["dead-letter", "replay", &place, "--postgres", &url, "--bootstrap", &address];
    let mend = [&replay[..], &["--column", "aggregatetype=order"]].concat();
    let (_, stdout, _) = pillion(&[&mend[..], &["--dry-run"]].concat()).await?;
    ensure!(stdout.contains(&format!("would write {id} of public.outbox")), "{stdout}");
    let (is_done, _, error) = pillion(&[&replay[..], &["--column", "colour=red"]].concat()).await?;
    ensure!(!is_done && error.contains("no column colour"), "{error}");
    let (is_done, stdout, error) = pillion(&mend).await?;
    ensure!(is_done && stdout.contains("replaced"), "the row is still in the table: {stdout}{error}");
    let consume = ["consume", "outbox.event.order", "-n", "1", "-f", "%k %s %h", "--read-committed", "-b", &address];
    let consumed = wait_for("the mended event", || async {
        let (_, topics, _) = pillion(&["topic", "list", "-b", &address]).await?;
        if !topics.contains("outbox.event.order") {
            return Ok(None);
        }
        pillion(&consume).await.map(|(_, stdout, _)| Some(stdout))
    })
    .await
    .with_context(|| relay.log())?;
    ensure!(consumed.starts_with("42 {\"total\": 100} ") && consumed.contains(&format!("id={id}")), "{consumed}");

    let bench = ["bench", "outbox", "-n", "3", "--json", "--postgres", &url, "--bootstrap", &address];
    let (is_done, stdout, error) = pillion(&bench).await?;
    ensure!(is_done && serde_json::from_str::<Value>(&stdout)?["records"] == 3, "{stdout}{error}");
    let left: i64 =
        client.query_one("select count(*) from outbox where aggregatetype = 'pillion-bench'", &[]).await?.get(0);
    ensure!(left == 0, "the rows of the measurement are gone");
    relay.terminate().await
}

#[tokio::test(flavor = "multi_thread")]
async fn measurements_leave_no_topic_behind() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    for what in ["produce", "fetch", "round-trip"] {
        let arguments = ["bench", what, "-n", "20", "--size", "100", "--json", "-b", broker.address()];
        let (is_done, stdout, error) = pillion(&arguments).await?;
        ensure!(is_done, "{what}: {error}");
        let figures: Value = serde_json::from_str(&stdout)?;
        ensure!(figures["records"] == 20 && figures["recordsPerSecond"].as_f64() > Some(0.0), "{figures}");
    }
    let (_, topics, _) = pillion(&["topic", "list", "--json", "-b", broker.address()]).await?;
    ensure!(topics.trim() == "[]", "{topics}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_manual_pages_and_licences_are_written() -> Result<()> {
    for shell in ["bash", "zsh", "fish"] {
        let (is_done, script, error) = pillion(&["generate", "completions", shell]).await?;
        ensure!(is_done && script.contains("reset-offsets"), "{shell}: {error}");
    }
    let folder = tempfile::tempdir()?;
    let man = folder.path().join("man1");
    let (is_done, _, error) = pillion(&["generate", "man", &man.to_string_lossy()]).await?;
    ensure!(is_done && man.join("pillion.1").is_file() && man.join("pillion-topic-create.1").is_file(), "{error}");
    let (_, version, _) = pillion(&["version", "--json"]).await?;
    let version: Value = serde_json::from_str(&version)?;
    let tokio = version["dependencies"].as_array().into_iter().flatten().find(|one| one["name"] == "tokio");
    ensure!(tokio.is_some_and(|tokio| tokio["licence"] == "MIT"), "{version}");
    Ok(())
}
