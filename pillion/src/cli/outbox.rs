//! `pillion outbox`: the database's side of the connector, from setting up to cleaning up.

mod init;
mod prune;
mod republish;
mod status;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Prepare a database for the connector, and look after it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Status(status::Status),
    Prune(prune::Prune),
    Republish(republish::Republish),
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::Init(init) => init.execute(),
            Command::Status(status) => status.execute(),
            Command::Prune(prune) => prune.execute(),
            Command::Republish(republish) => republish.execute(),
        }
    }
}
