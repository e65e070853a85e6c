//! `pillion group`: list, describe, reset and delete consumer groups of pillion's broker or of any Kafka cluster.

mod delete;
mod describe;
mod lag;
mod list;
mod places;
mod reset;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::process::{self, Kind};

pub(super) use lag::{GroupLag, lag_of};

/// List, describe, reset and delete consumer groups
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion group list
  pillion group describe billing                                       members, and lag by partition
  pillion group reset-offsets billing --topic orders --to start        what it would do
  pillion group reset-offsets billing --topic orders --to start --execute
  pillion group delete billing -b kafka-1:9092")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::List),
    Describe(describe::Describe),
    ResetOffsets(reset::ResetOffsets),
    DeleteOffsets(delete::DeleteOffsets),
    Delete(delete::Delete),
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Tool, async {
            match self.command {
                Command::List(list) => list.execute().await,
                Command::Describe(describe) => describe.execute().await,
                Command::ResetOffsets(reset) => reset.execute().await,
                Command::DeleteOffsets(delete) => delete.execute().await,
                Command::Delete(delete) => delete.execute().await,
            }
        })
    }
}
