//! `pillion doctor`: what keeps a connector from running, and what will, each with its fix.

use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use pillion_cdc::checks::{self, Finding, Verdict};
use serde_json::json;

use super::connectors::{Chosen, ConnectorsFlags};
use super::process::{self, Kind};
use super::text::{row, write_columns};

/// Check database, slot and broker, and print how to mend what is wrong
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion doctor --postgres URL --bootstrap 127.0.0.1:9092
  pillion doctor --config pillion.toml                 every connector of the file
  pillion doctor --config pillion.toml --json          for a deployment's gate

Nothing is changed, and a connector that runs goes on. The exit code is 1 if a check failed; warnings leave it 0.")]
pub(super) struct Arguments {
    #[command(flatten)]
    connectors: ConnectorsFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let chosen = self.connectors.all()?;
        process::run(Kind::Tool, async {
            let mut examined = Vec::with_capacity(chosen.len());
            for one in chosen {
                let findings = checks::examine(&one.config).await;
                examined.push((one, findings));
            }
            let mut stdout = std::io::stdout().lock();
            match self.json {
                true => writeln!(stdout, "{}", document(&examined))?,
                false => write_tables(&mut stdout, &examined)?,
            }
            let failed =
                examined.iter().flat_map(|(_, findings)| findings).filter(|found| found.verdict == Verdict::Failed);
            match failed.count() {
                0 => Ok(()),
                1 => bail!("one check failed"),
                count => bail!("{count} checks failed"),
            }
        })
    }
}

fn document(examined: &[(Chosen, Vec<Finding>)]) -> serde_json::Value {
    let finding = |found: &Finding| json!({ "check": found.check.name(), "result": found.verdict.to_string(), "message": found.message });
    let one = |(chosen, findings): &(Chosen, Vec<Finding>)| {
        json!({
            "connector": chosen.name,
            "ready": findings.iter().all(|found| found.verdict < Verdict::Skipped),
            "checks": findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    examined.iter().map(one).collect()
}

fn write_tables(out: &mut impl Write, examined: &[(Chosen, Vec<Finding>)]) -> Result<()> {
    for (number, (chosen, findings)) in examined.iter().enumerate() {
        if examined.len() > 1 {
            let blank = if number > 0 { "\n" } else { "" };
            writeln!(out, "{blank}connector {}", chosen.name)?;
        }
        let line = |found: &Finding| row([&found.verdict.to_string(), found.check.name(), &found.message]);
        write_columns(out, &findings.iter().map(line).collect::<Vec<_>>())?;
    }
    Ok(())
}
