//! Groups and records from the command line, as people use them: produce, read in several ways, reset, delete.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

use super::sidecar::Broker;

/// Exit code, standard output and standard error.
type Ended = (Option<i32>, String, String);

async fn pillion(broker: &str, arguments: &[&str]) -> Result<Ended> {
    let output = program::command("pillion")?.args(arguments).args(["-b", broker]).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

/// The same with something on standard input.
async fn fed(broker: &str, arguments: &[&str], input: &str) -> Result<()> {
    let mut command = program::command("pillion")?;
    let mut child = command.args(arguments).args(["-b", broker]).stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("standard input is piped")?;
    stdin.write_all(input.as_bytes()).await?;
    drop(stdin);
    ensure!(child.wait().await?.success(), "{arguments:?} failed");
    Ok(())
}

async fn output(broker: &str, arguments: &[&str]) -> Result<String> {
    let (code, stdout, stderr) = pillion(broker, arguments).await?;
    ensure!(code == Some(0), "{arguments:?}: {stdout}{stderr}");
    Ok(stdout)
}

async fn json(broker: &str, arguments: &[&str]) -> Result<Value> {
    let stdout = output(broker, arguments).await?;
    serde_json::from_str(&stdout).with_context(|| stdout)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_read_reset_and_deleted() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let address = broker.address();
    output(address, &["topic", "create", "orders", "-p", "2"]).await?;
    fed(address, &["produce", "orders", "-p", "0"], "a\nb\nc\n").await?;
    fed(address, &["produce", "orders", "-p", "1"], "d\n").await?;

    // As many as asked for are printed, and no more are committed.
    let read = output(address, &["consume", "orders", "--group", "billing", "-n", "3"]).await?;
    ensure!(read.lines().count() == 3, "{read}");
    let described = json(address, &["group", "describe", "billing", "--json"]).await?;
    ensure!(described[0]["lag"] == 1 && described[0]["state"] == "Empty", "{described}");
    let rest = output(address, &["consume", "orders", "--group", "billing", "--exit-at-end"]).await?;
    ensure!(rest.lines().count() == 1, "the fourth, once: {rest}");

    let reset = ["group", "reset-offsets", "billing", "--topic", "orders:0"];
    let shown = output(address, &[&reset[..], &["--to", "start"]].concat()).await?;
    ensure!(shown.contains("nothing was changed"), "{shown}");
    ensure!(json(address, &["group", "describe", "billing", "-J"]).await?[0]["lag"] == 0, "nothing was changed");
    output(address, &[&reset[..], &["--shift-by", "-2", "--execute"]].concat()).await?;
    let again = output(address, &["consume", "orders", "--group", "billing", "--exit-at-end"]).await?;
    ensure!(again == "b\nc\n", "{again}");
    let done = json(address, &[&reset[..], &["--to", "99", "--execute", "--json"]].concat()).await?;
    ensure!(done["partitions"][0]["newOffset"] == 3 && done["executed"] == true, "{done}");

    let mut command = program::command("pillion")?;
    command.args(["consume", "orders", "--group", "billing", "-b", address]).stdout(Stdio::null());
    let mut member = Program::start_silent("pillion consume", command)?;
    wait_for("the member", || async {
        let described = json(address, &["group", "describe", "billing", "--json"]).await?;
        let members = described[0]["members"].as_array().map_or(0, Vec::len);
        Ok((described[0]["state"] == "Stable" && members == 1).then_some(()))
    })
    .await?;
    let (code, _, error) = pillion(address, &[&reset[..], &["--to", "start", "--execute"]].concat()).await?;
    ensure!(code == Some(1) && error.contains("stop them first"), "{error}");
    let (code, _, error) = pillion(address, &["group", "delete", "billing"]).await?;
    ensure!(code == Some(1) && error.contains("NON_EMPTY_GROUP"), "{error}");
    member.terminate().await?;
    let status = json(address, &["status", "--json"]).await?;
    ensure!(
        status["topics"].to_string().contains("\"orders\"") && status["groups"][0]["group"] == "billing",
        "{status}"
    );
    ensure!(output(address, &["group", "delete", "billing"]).await? == "deleted billing\n", "it has no members now");
    let (code, _, error) = pillion(address, &["group", "describe", "billing"]).await?;
    ensure!(code == Some(1) && error.contains("there is no group billing"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_read_by_place_time_key_and_header_and_copied_as_json() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let address = broker.address();
    output(address, &["topic", "create", "orders", "copy"]).await?;
    let line = |timestamp: i64, key: &str, kind: &str| {
        format!(
            r#"{{"key":"{key}","value":"{timestamp}","timestamp":{timestamp},"headers":[{{"key":"type","value":"{kind}"}}]}}"#
        )
    };
    let lines = [line(1_000, "7", "Placed"), line(2_000, "8", "Placed"), line(3_000, "7", "Paid")].join("\n");
    fed(address, &["produce", "orders", "--json"], &lines).await?;

    let consume = async |flags: &[&str]| output(address, &[&["consume", "orders", "-f", "%s "], flags].concat()).await;
    for (flags, expected) in [
        (&["-e"][..], "1000 2000 3000 "),
        (&["--from", "1970-01-01T00:00:02Z", "-e"], "2000 3000 "),
        (&["--from", "@1001", "--to", "e@3000"], "2000 "),
        (&["--to", "1"], "1000 "),
        (&["--from", "-1", "--to", "end"], "3000 "),
        (&["--from", "end", "-e"], ""),
        (&["--key", "7", "-e"], "1000 3000 "),
        (&["--header", "type=Placed", "--key", "8", "-e"], "2000 "),
        (&["--header", "other", "-e"], ""),
        (&["--key", "7", "-n", "1"], "1000 "),
    ] {
        let read = consume(flags).await?;
        ensure!(read == expected, "{flags:?}: {read}");
    }
    let pretty = output(address, &["consume", "orders", "--pretty", "-n", "1"]).await?;
    ensure!(pretty.starts_with("orders[0] @ 0  1970-01-01T00:00:01.000Z  key 7\n  type: Placed\n  1000\n"), "{pretty}");
    ensure!(!pretty.contains('\u{1b}'), "colour is for terminals only");

    let copied = output(address, &["consume", "orders", "-e", "--json"]).await?;
    fed(address, &["produce", "copy", "--json"], &copied).await?;
    let strip = |text: String| text.replace("\"topic\":\"copy\"", "\"topic\":\"orders\"");
    ensure!(
        strip(output(address, &["consume", "copy", "-e", "--json"]).await?) == copied,
        "a copy is what it was made of"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_records_and_a_missing_one_is_named() -> Result<()> {
    let broker = Broker::start(&[]).await?;
    let address = broker.address();
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("one.json"), "{\n}\n")?;
    std::fs::write(path("lines"), "a\nb")?;
    output(address, &["produce", "files", &path("one.json"), "-k", "7"]).await?;
    output(address, &["produce", "files", "--lines-from", &path("lines"), "--rate", "1000"]).await?;
    let read = output(address, &["consume", "files", "-e", "-f", "%k|%s|%S;"]).await?;
    ensure!(read == "7|{\n}\n|4;|a|1;|b|1;", "{read}");
    let (code, _, error) = pillion(address, &["produce", "files", &path("missing")]).await?;
    ensure!(code == Some(1) && error.contains("missing"), "{error}");
    Ok(())
}
