//! The broker's disk is full: a small file system of its own, in a mount namespace of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::proxy::Proxy;
use pillion_tests::reader::Reader;
use pillion_tests::waiting::{PATIENCE, wait_for};
use pillion_tests::writers::Writers;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::scene::{broker_command, connector, wait_for_slot};

/// A process that holds a mount namespace in which `folder` is a file system of 24 MiB.
struct SmallDisk {
    holder: Child,
}

impl SmallDisk {
    /// `None` where the machine allows no mount namespaces.
    async fn at(folder: &Path) -> Result<Option<Self>> {
        let script =
            format!("mount -t tmpfs -o size=24m tmpfs '{}' && echo ready && exec sleep infinity", folder.display());
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.args(["--map-root-user", "--user"]);
        }
        command.args(["--mount", "sh", "-c", &script]).stdin(Stdio::null()).stderr(Stdio::null());
        let Ok(mut holder) = command.stdout(Stdio::piped()).kill_on_drop(true).spawn() else { return Ok(None) };
        let mut line = String::new();
        BufReader::new(holder.stdout.take().context("standard output is piped")?).read_line(&mut line).await?;
        Ok((line == "ready\n").then_some(Self { holder }))
    }

    /// A command that runs in the namespace.
    fn enter(&self) -> Result<Command> {
        let id = self.holder.id().context("the holder runs")?.to_string();
        let mut command = Command::new("nsenter");
        command.args(["--target", &id, "--mount"]);
        if !rustix::process::geteuid().is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--").arg(program::path("pillion")?).stdin(Stdio::null()).kill_on_drop(true);
        Ok(command)
    }

    /// How a path of the namespace is reached from here.
    fn path(&self, path: &Path) -> Result<std::path::PathBuf> {
        let root = format!("/proc/{}/root", self.holder.id().context("the holder runs")?);
        Ok(Path::new(&root).join(path.strip_prefix("/")?))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_of_the_broker_loses_and_repeats_nothing_once_there_is_room() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(disk) = SmallDisk::at(folder.path()).await? else {
        eprintln!("not tested: mount namespaces are not allowed here");
        return Ok(());
    };
    let postgres = Server::start().await?;
    let (behind, proxy) = {
        let behind = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        (behind, Proxy::kafka(behind).await?)
    };
    let data = folder.path().join("data");
    let start = |listen: String| {
        let command = disk.enter().map(|command| broker_command(command, &data, &listen, behind, &proxy));
        async move { Program::start("pillion broker", command?).await }
    };
    let mut broker = start("127.0.0.1:0".to_owned()).await?;
    let address = broker.first_line().to_owned();
    let connector = connector(&postgres.url(), &proxy.address().to_string(), &[])?;
    wait_for_slot(&postgres).await?;
    let writers = Writers::start(&postgres.url(), 4, std::time::Duration::from_millis(2));
    let mut reader = Reader::of(&address, 2)?;
    wait_for("events", || async { Ok((writers.count() > 100).then_some(())) }).await?;
    reader.read_for(std::time::Duration::from_millis(500)).await?;

    // Until nothing more fits.
    let ballast = disk.path(&folder.path().join("ballast"))?;
    let full = Command::new("dd").arg("if=/dev/zero").arg(format!("of={}", ballast.display())).args(["bs=4k"]).output();
    ensure!(!full.await?.status.success(), "the disk is not full");
    wait_for("the connector to notice", || async { Ok(connector.log().contains("WARN").then_some(())) }).await?;
    writers.more(200).await?;

    std::fs::remove_file(&ballast)?;
    // A partition that failed to write comes back with the broker.
    broker.kill().await?;
    let _broker = start(address).await?;
    writers.more(200).await?;
    let rows = writers.stop().await?;
    reader.expect(&rows, PATIENCE).await.with_context(|| connector.log())
}
