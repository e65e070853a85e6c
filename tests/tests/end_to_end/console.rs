//! The console of a whole pillion: not ready before everything serves, and with the numbers of all parts.

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::waiting::wait_for;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where the console answers: the log says so.
fn console(program: &Program) -> Result<String> {
    let log = program.log();
    let address = log.split("console on http://").nth(1).with_context(|| format!("no console in:\n{log}"))?;
    Ok(address.chars().take_while(|character| character.is_ascii_digit() || ".:".contains(*character)).collect())
}

/// The answer with its head.
async fn get(console: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(console).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {console}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_pillion_is_ready_once_its_connector_streams_and_counts_all_of_its_parts() -> Result<()> {
    let postgres = Server::start().await?;
    let data = tempfile::tempdir()?;
    let mut command = program::command("pillion")?;
    command.args(["run", "--auto-init", "--postgres", &postgres.url(), "--listen", "127.0.0.1:0"]);
    command.args(["--set", "ui.listen=127.0.0.1:0", "--set", "log.min.free.bytes=0", "--data-dir"]).arg(data.path());
    let mut pillion = Program::start("pillion run", command).await?;
    let console = console(&pillion)?;
    ensure!(get(&console, "/healthz").await?.starts_with("HTTP/1.1 200"));
    wait_for("readiness", || async { Ok(get(&console, "/readyz").await?.starts_with("HTTP/1.1 200").then_some(())) })
        .await?;
    let metrics = get(&console, "/metrics").await?;
    for line in [
        "pillion_ready 1",
        "pillion_connector_state{connector=\"default\",state=\"streaming\"} 1",
        "pillion_broker_offline_partitions 0",
    ] {
        ensure!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    pillion.terminate().await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_on_a_machine_do_not_quarrel_about_a_page_that_nobody_asked_for() -> Result<()> {
    let mut running = Vec::new();
    for _ in 0..2 {
        let data = tempfile::tempdir()?;
        let mut command = program::command("pillion")?;
        command.args(["broker", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
        running.push((Program::start("pillion broker", command).await?, data));
    }
    let (first, second) = (console(&running[0].0)?, console(&running[1].0)?);
    ensure!(first != second, "both say {first}");
    for (mut program, _data) in running {
        program.terminate().await?;
    }
    Ok(())
}
