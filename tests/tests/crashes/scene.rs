//! Postgres, a broker behind a proxy, a connector and writers.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context, Result};
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use pillion_tests::proxy::Proxy;
use pillion_tests::reader::Reader;
use pillion_tests::waiting::{PATIENCE, wait_for};
use pillion_tests::writers::Writers;
use tempfile::TempDir;
use tokio::process::Command;

/// Partitions of the events' topic.
const PARTITIONS: i32 = 2;
const WRITERS: usize = 5;
/// Between two transactions of a writer.
const PAUSE: Duration = Duration::from_millis(2);

/// `pillion broker`: tests reach it as it is, the connector through a proxy.
pub(crate) struct Broker {
    data: TempDir,
    address: String,
    behind: SocketAddr,
    pub(crate) proxy: Proxy,
    pub(crate) program: Program,
}

impl Broker {
    pub(crate) async fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let behind = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let proxy = Proxy::kafka(behind).await?;
        let command = broker_command(program::command("pillion")?, data.path(), "127.0.0.1:0", behind, &proxy);
        let program = Program::start("pillion broker", command).await?;
        Ok(Self { data, address: program.first_line().to_owned(), behind, proxy, program })
    }

    /// Where tests reach it.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// SIGKILL.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.program.kill().await
    }

    /// Starts it again on the same ports and data.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        let command = program::command("pillion")?;
        let command = broker_command(command, self.data.path(), &self.address, self.behind, &self.proxy);
        self.program = Program::start("pillion broker", command).await?;
        Ok(())
    }
}

/// Completes the command of a broker with a second listener, whose clients are told to come through the proxy.
pub(crate) fn broker_command(
    mut command: Command,
    data: &std::path::Path,
    listen: &str,
    behind: SocketAddr,
    proxy: &Proxy,
) -> Command {
    command.arg("broker").arg("--data-dir").arg(data).args(["--listen", listen]);
    command.arg("--listener").arg(format!("PROXIED://{behind}={}", proxy.address()));
    command.args(["--set", "log.min.free.bytes=0"]);
    command
}

/// `pillion cdc` from a database to a broker.
pub(crate) fn connector(postgres: &str, bootstrap: &str, settings: &[&str]) -> Result<Program> {
    let mut command = program::command("pillion")?;
    command.args(["cdc", "--auto-init", "--postgres", postgres, "--bootstrap", bootstrap]);
    let partitions = format!("topic.creation.default.partitions={PARTITIONS}");
    for setting in settings.iter().copied().chain([partitions.as_str()]) {
        command.args(["--set", setting]);
    }
    Program::start_silent("pillion cdc", command)
}

/// All of it at work.
pub(crate) struct Scene {
    pub(crate) postgres: Server,
    pub(crate) broker: Broker,
    pub(crate) connector: Program,
    pub(crate) writers: Writers,
    pub(crate) reader: Reader,
}

impl Scene {
    /// Everything runs, and events arrive.
    pub(crate) async fn set() -> Result<Self> {
        Self::set_with(&[]).await
    }

    /// The same with settings of Postgres.
    pub(crate) async fn set_with(settings: &[&str]) -> Result<Self> {
        let (postgres, broker) = (Server::start_with(settings).await?, Broker::start().await?);
        let url = postgres.url();
        let connector = connector(&url, &broker.proxy.address().to_string(), &[])?;
        wait_for_slot(&postgres).await.with_context(|| connector.log())?;
        let writers = Writers::start(&url, WRITERS, PAUSE);
        let reader = Reader::of(broker.address(), PARTITIONS)?;
        let mut scene = Self { postgres, broker, connector, writers, reader };
        scene.events_arrive(50).await?;
        Ok(scene)
    }

    /// What the connector connects to.
    pub(crate) fn bootstrap(&self) -> String {
        self.broker.proxy.address().to_string()
    }

    /// Starts the connector again, after its end.
    pub(crate) fn restart_connector(&mut self) -> Result<()> {
        self.restart_connector_with(&[])
    }

    pub(crate) fn restart_connector_with(&mut self, settings: &[&str]) -> Result<()> {
        self.connector = connector(&self.postgres.url(), &self.bootstrap(), settings)?;
        Ok(())
    }

    /// SIGKILL of the connector; the proxy's ends of its connections go too.
    pub(crate) async fn kill_connector(&mut self) -> Result<()> {
        self.connector.kill().await?;
        self.broker.proxy.cut();
        Ok(())
    }

    /// Nothing is written any more, and what was has come.
    pub(crate) async fn pause_writers(&mut self) -> Result<()> {
        let none = Writers::of_keys("none", &self.postgres.url(), 0, PAUSE);
        let rows = std::mem::replace(&mut self.writers, none).stop().await?;
        self.reader.read_all(&rows, PATIENCE).await.map(drop)
    }

    /// Other keys are written from now on.
    pub(crate) fn resume_writers(&mut self) {
        self.writers = Writers::of_keys("resumed", &self.postgres.url(), WRITERS, PAUSE);
    }

    /// Waits until so many more events have come.
    pub(crate) async fn events_arrive(&mut self, more: usize) -> Result<()> {
        let (goal, deadline) = (self.reader.ledger.count() + more, tokio::time::Instant::now() + PATIENCE);
        while self.reader.ledger.count() < goal {
            self.reader.read_for(Duration::from_millis(20)).await?;
            anyhow::ensure!(tokio::time::Instant::now() < deadline, "no events come:\n{}", self.connector.log());
        }
        Ok(())
    }

    /// The slot's confirmed position.
    pub(crate) async fn confirmed(&self) -> Result<u64> {
        let confirmed = "SELECT (confirmed_flush_lsn - '0/0')::bigint FROM pg_replication_slots";
        Ok(self.postgres.connect().await?.query_one(confirmed, &[]).await?.get::<_, i64>(0).cast_unsigned())
    }

    /// More is written and arrives; then everything that was committed has come once and in order.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.events_arrive(100).await?;
        let rows = self.writers.stop().await?;
        self.reader.expect(&rows, PATIENCE).await.with_context(|| self.connector.log())
    }
}

/// Waits until somebody streams.
pub(crate) async fn wait_for_slot(postgres: &Server) -> Result<()> {
    let client = postgres.connect().await?;
    wait_for("a connector to stream", || async {
        let active = "SELECT 1 FROM pg_replication_slots WHERE active AND to_regclass('outbox') IS NOT NULL";
        Ok(client.query_opt(active, &[]).await?.map(drop))
    })
    .await
}
