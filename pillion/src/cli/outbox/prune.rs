//! `pillion outbox prune`: removes what is old and published.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use pillion_cdc::outbox::{self, PruneOptions, Pruned};

use crate::cli::connectors::{Chosen, ConnectorsFlags};
use crate::cli::duration;
use crate::cli::process::{self, Kind};
use crate::signals;

/// Remove rows that are old and published, or drop their partitions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion outbox prune --postgres URL --older-than 7d --dry-run     count them
  pillion outbox prune --postgres URL --older-than 7d
  pillion outbox prune --config pillion.toml --older-than 7d --every 1h

A row goes once its transaction was committed before the slot's confirmed position; while a
connector is behind, nothing goes. Age is by table.field.event.timestamp, the column created_at,
or the time of commit (track_commit_timestamp).

Of a table with partitions by that column, those that are old as a whole are dropped, and the
coming ones are made: run it as the table's owner. Otherwise SELECT and DELETE are enough.")]
pub(super) struct Prune {
    #[command(flatten)]
    connectors: ConnectorsFlags,
    /// Remove only what was written longer ago than this, such as 7d or 12h
    #[arg(long, value_name = "AGE", value_parser = duration::parse)]
    older_than: Duration,
    /// Do it again after this time, until stopped
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    every: Option<Duration>,
    /// Remove nothing, say what would be
    #[arg(long)]
    dry_run: bool,
    /// Remove about so many rows in one transaction
    #[arg(long, value_name = "ROWS", default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Give a connector that is behind this long to catch up
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration::parse)]
    wait: Duration,
}

impl Prune {
    pub(super) fn execute(self) -> Result<()> {
        let chosen = self.connectors.all()?;
        let options =
            PruneOptions { older_than: self.older_than, batch: self.batch, wait: self.wait, dry_run: self.dry_run };
        let Some(every) = self.every else {
            return process::run(Kind::Tool, prune_all(&chosen, &options));
        };
        process::run(Kind::Conversation, async {
            let stop = signals::stop_on_signal()?;
            loop {
                // What ends one round may have passed by the next one.
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    outcome = prune_all(&chosen, &options) => if let Err(error) = outcome {
                        tracing::warn!("{error:#}");
                    },
                }
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = tokio::time::sleep(every.max(Duration::from_secs(1))) => {}
                }
            }
        })
    }
}

async fn prune_all(chosen: &[Chosen], options: &PruneOptions) -> Result<()> {
    for one in chosen {
        let pruned = outbox::prune(&one.config, options).await;
        let pruned = pruned.with_context(|| format!("cannot prune {}", one.config.postgres))?;
        let mut stdout = std::io::stdout().lock();
        for table in &pruned {
            write_pruned(&mut stdout, table, options.dry_run)?;
        }
    }
    Ok(())
}

fn write_pruned(out: &mut impl Write, pruned: &Pruned, is_dry: bool) -> Result<()> {
    let would = if is_dry { "would be " } else { "" };
    writeln!(out, "{}: {} rows {would}deleted", pruned.table, pruned.rows)?;
    for partition in &pruned.partitions {
        writeln!(out, "{}: partition {partition} {would}dropped", pruned.table)?;
    }
    for kept in &pruned.kept {
        writeln!(out, "{}: partition {kept}", pruned.table)?;
    }
    if pruned.batches_locked > 0 {
        let batches = pruned.batches_locked;
        writeln!(out, "{}: {batches} batches passed over, for somebody had locked their rows", pruned.table)?;
    }
    Ok(())
}
