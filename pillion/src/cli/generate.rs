//! `pillion generate`: completions for shells and manual pages, for packages and for whoever installs by hand.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory, Subcommand};
use clap_complete::Shell;

use super::CommandLine;

/// Write shell completions or manual pages
#[derive(Debug, Args)]
#[command(
    hide = true,
    after_help = "\
Examples:
  pillion generate completions bash > /etc/bash_completion.d/pillion
  pillion generate completions zsh > ~/.zfunc/_pillion
  pillion generate man /usr/local/share/man/man1"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Completions(Completions),
    Man(Man),
}

/// Write completions for a shell to standard output
#[derive(Debug, Args)]
struct Completions {
    /// Which shell
    shell: Shell,
}

/// Write a manual page for each command into a directory
#[derive(Debug, Args)]
struct Man {
    /// Where to; made if it is missing
    directory: PathBuf,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let mut command = CommandLine::command();
        match self.command {
            Command::Completions(Completions { shell }) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, "pillion", &mut script);
                Ok(std::io::stdout().lock().write_all(&script)?)
            }
            Command::Man(Man { directory }) => {
                let failed = || format!("cannot write manual pages to {}", directory.display());
                std::fs::create_dir_all(&directory).with_context(failed)?;
                clap_mangen::generate_to(command, &directory).with_context(failed)
            }
        }
    }
}
