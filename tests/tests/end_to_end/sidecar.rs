//! Broker and connector as child processes, on a Postgres of the test's own.

use anyhow::Result;
use pillion_test_postgres::Server;
use pillion_tests::program::{self, Program};
use tempfile::TempDir;
use tokio::process::Command;

/// `pillion broker` on a folder that outlives it.
pub(crate) struct Broker {
    data: TempDir,
    address: String,
    pub(crate) program: Program,
}

impl Broker {
    /// Starts one on a free port.
    pub(crate) async fn start(settings: &[&str]) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let program = Program::start("pillion broker", broker_command(&data, "127.0.0.1:0", settings)?).await?;
        Ok(Self { data, address: program.first_line().to_owned(), program })
    }

    /// Where it answers.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> &std::path::Path {
        self.data.path()
    }

    /// Starts it again after a kill, on the same port and data.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.program = Program::start("pillion broker", broker_command(&self.data, &self.address, &[])?).await?;
        Ok(())
    }
}

fn broker_command(data: &TempDir, listen: &str, settings: &[&str]) -> Result<Command> {
    let mut command = program::command("pillion")?;
    command.arg("broker").arg("--data-dir").arg(data.path()).args(["--listen", listen]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    Ok(command)
}

/// `pillion cdc` between a Postgres and a broker.
pub(crate) fn connector(postgres: &Server, broker: &str, tables: &[&str]) -> Result<Command> {
    let mut command = program::command("pillion")?;
    command.args(["cdc", "--auto-init", "--postgres", &postgres.url(), "--bootstrap", broker]);
    for table in tables {
        command.args(["--table", table]);
    }
    Ok(command)
}
