//! `pillion outbox`: the database's side of the connector, from setting up to cleaning up.

mod init;

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
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::Init(init) => init.execute(),
        }
    }
}
