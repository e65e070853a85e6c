//! `pillion health`: whether a running pillion is ready, for the health check of a container that has nothing else in it.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::process::{self, Kind};
use crate::http_exchange;

/// Ask a running pillion whether it is ready: exit code 0 if it is, 1 with the reasons if not
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion health                                 broker and connectors of this machine's pillion
  pillion health --part broker                   the broker only
  pillion health --console 127.0.0.1:9181        another one, by the address of its console (ui.listen)

Meant for containers (HEALTHCHECK CMD [\"pillion\", \"health\"]); whoever can make HTTP requests
asks http://127.0.0.1:9180/readyz.")]
pub(super) struct Arguments {
    /// The console's address, as ui.listen has it
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9180")]
    console: String,
    /// Ask of one part only
    #[arg(long, value_name = "PART", value_parser = ["broker", "connectors"])]
    part: Option<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    timeout: u64,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Tool, async move {
            let path = match &self.part {
                Some(part) => format!("/readyz?part={part}"),
                None => "/readyz".to_owned(),
            };
            let asked = http_exchange::get(&self.console, &path, Duration::from_secs(self.timeout)).await;
            let answer = asked.with_context(|| format!("no console answers on {}", self.console))?;
            match answer.status {
                200 => {
                    println!("ready");
                    Ok(())
                }
                503 => bail!("not ready: {}", answer.body.trim()),
                other => bail!("{} answers {path} with {other}: is it a pillion's console?", self.console),
            }
        })
    }
}
