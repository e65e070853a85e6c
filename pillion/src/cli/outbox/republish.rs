//! `pillion outbox republish`: publishes what is still in the table once more.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::Args;
use pillion_cdc::outbox::{self, Plan, RepublishFrom};

use crate::cli::connectors::{Chosen, ConnectorsFlags};
use crate::cli::process::{self, Kind};

/// Publish rows that are still in the table once more, for a cluster that lost them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion outbox republish --from 2026-01-31T12:00:00Z --postgres URL --bootstrap H:9092 --dry-run
  pillion outbox republish --from 4bf92f35-77b3-4da6-a3ce-929d0e0e4736 --config pillion.toml
  pillion outbox republish --from 16/B374D848 --config pillion.toml      (needs pg_walinspect)

Stop the connector first. Records are those the connector would send, through the same router.
Consumers may see an event again, with the id it had: an inbox makes that harmless.

The order is that of the commits where the server knows it (a position, track_commit_timestamp),
otherwise that of created_at, which is when a transaction began: with --from TIME, go back by
as much as your longest transaction takes.")]
pub(super) struct Republish {
    #[command(flatten)]
    connectors: ConnectorsFlags,
    /// Begin here: the id of an event, a time, or a position in Postgres' log
    #[arg(long, value_name = "ID|TIME|LSN")]
    from: RepublishFrom,
    /// Publish nothing, say what would be
    #[arg(long)]
    dry_run: bool,
}

impl Republish {
    pub(super) fn execute(self) -> Result<()> {
        let one = self.connectors.one()?;
        process::run(Kind::Tool, async {
            let database = one.config.postgres.clone();
            let failed = || format!("cannot republish from {database}");
            let plan = outbox::plan(&one.config, &self.from).await.with_context(failed)?;
            write_plan(&one, &self.from, &plan)?;
            if self.dry_run {
                return Ok(());
            }
            let done = outbox::republish(&one.config, &self.from).await.with_context(failed)?;
            let mut stdout = std::io::stdout().lock();
            for (topic, records) in &done.topics {
                writeln!(stdout, "{topic}: {records} records")?;
            }
            for left_out in &done.left_out {
                writeln!(stdout, "left out: {left_out}")?;
            }
            match done.left_out.len() {
                0 => Ok(()),
                count => bail!("{count} rows were left out"),
            }
        })
    }
}

fn write_plan(one: &Chosen, from: &RepublishFrom, plan: &Plan) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    let servers = one.config.bootstrap_servers.join(",");
    for table in &plan.tables {
        writeln!(
            stdout,
            "{}: {} rows from {from} on, in the order of {}, to {servers}",
            table.table, table.rows, table.order
        )?;
    }
    if let Some(holder) = &plan.holder {
        writeln!(stdout, "slot {} is streamed from by {holder}: stop that connector first", one.config.slot)?;
    }
    Ok(())
}
