//! `pillion outbox status`: how an outbox is doing.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::Args;
use pillion_cdc::outbox::{self, ClusterHealth, Health, SlotHealth, TableHealth};
use serde_json::{Value, json};

use crate::cli::connectors::{Chosen, ConnectorsFlags};
use crate::cli::duration;
use crate::cli::process::{self, Kind};
use crate::cli::text::{row, size, write_columns};

/// Show slot, lag, retained log, progress and dead letters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion outbox status --postgres URL --bootstrap 127.0.0.1:9092
  pillion outbox status --config pillion.toml --json

The exit code is 1 when there is no slot, or it is lost. The lag in seconds is shown to the role
that streams and to members of pg_read_all_stats.")]
pub(super) struct Status {
    #[command(flatten)]
    connectors: ConnectorsFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) fn execute(self) -> Result<()> {
        let chosen = self.connectors.all()?;
        process::run(Kind::Tool, async {
            let mut asked = Vec::with_capacity(chosen.len());
            for one in chosen {
                let database = one.config.postgres.clone();
                let health = outbox::health(&one.config).await.with_context(|| format!("cannot ask {database}"))?;
                asked.push((one, health));
            }
            let mut stdout = std::io::stdout().lock();
            if self.json {
                let documents: Value = asked.iter().map(|(one, health)| document(one, health)).collect();
                writeln!(stdout, "{documents}")?;
            } else {
                for (number, (one, health)) in asked.iter().enumerate() {
                    let blank = if number > 0 { "\n" } else { "" };
                    write!(stdout, "{blank}")?;
                    write_columns(&mut stdout, &lines(one, health))?;
                }
            }
            drop(stdout);
            for (one, health) in &asked {
                match &health.slot {
                    None => bail!("replication slot {} does not exist: run `pillion outbox init`", one.config.slot),
                    Some(slot) if slot.is_lost => {
                        bail!("replication slot {} is lost; `pillion doctor` says how to go on", one.config.slot)
                    }
                    Some(_) => {}
                }
            }
            Ok(())
        })
    }
}

fn lines(one: &Chosen, health: &Health) -> Vec<Vec<String>> {
    let mut lines = vec![row(["connector", &one.name, &one.config.postgres.to_string()])];
    if let Some(slot) = &health.slot {
        slot_lines(one, health, slot, &mut lines);
    } else {
        lines.push(row(["slot", &one.config.slot, "does not exist"]));
    }
    match &health.cluster {
        Ok(ClusterHealth { progress, dead_letters }) => {
            match progress {
                Some(progress) => {
                    let id = progress.last_event_id.as_deref().map_or("none yet".into(), String::from_utf8_lossy);
                    let published = format!("on timeline {}, last event {id}", progress.timeline);
                    lines.push(row(["progress", &progress.end_lsn.to_string(), &published]));
                }
                None => lines.push(row(["progress", "none", "no record on the progress topic"])),
            }
            lines.push(row([
                "dead letters",
                &dead_letters.to_string(),
                &format!("on {}", one.config.dead_letter_topic),
            ]));
        }
        Err(reason) => lines.push(row(["broker", "not asked", reason])),
    }
    for TableHealth { table, rows, bytes, partitions } in &health.tables {
        let rows = rows.map_or("not analysed yet".to_owned(), |rows| format!("about {rows} rows"));
        let partitions = if *partitions > 0 { format!(", {partitions} partitions") } else { String::new() };
        lines.push(row(["table", &table.to_string(), &format!("{rows}, {}{partitions}", size(*bytes))]));
    }
    lines
}

fn slot_lines(one: &Chosen, health: &Health, slot: &SlotHealth, lines: &mut Vec<Vec<String>>) {
    let holder = slot.holder.as_ref().map_or("nobody streams from it".to_owned(), |holder| format!("held by {holder}"));
    lines.push(row(["slot", &one.config.slot, &holder]));
    let confirmed = format!("of {}", health.server);
    lines.push(row(["confirmed", &slot.confirmed.to_string(), &confirmed]));
    let lag = slot.lag.map_or("time not known".to_owned(), duration::text);
    lines.push(row(["lag", &size(slot.lag_bytes), &lag]));
    let limit = match slot.retained_bytes_max {
        Some(limit) => format!("of {} (max_slot_wal_keep_size), {}", size(limit), slot.wal_status),
        None => format!("without a limit (max_slot_wal_keep_size), {}", slot.wal_status),
    };
    lines.push(row(["retained", &slot.retained_bytes.map_or("nothing".to_owned(), size), &limit]));
}

fn document(one: &Chosen, health: &Health) -> Value {
    let slot = health.slot.as_ref().map(|slot| {
        json!({
            "name": one.config.slot,
            "holder": slot.holder,
            "confirmedLsn": slot.confirmed.to_string(),
            "lagBytes": slot.lag_bytes,
            "lagSeconds": slot.lag.map(|lag| lag.as_secs_f64()),
            "retainedBytes": slot.retained_bytes,
            "retainedBytesMax": slot.retained_bytes_max,
            "walStatus": slot.wal_status,
            "isLost": slot.is_lost,
        })
    });
    let table = |table: &TableHealth| {
        json!({
            "table": table.table.to_string(),
            "rows": table.rows,
            "bytes": table.bytes,
            "partitions": table.partitions,
        })
    };
    let (progress, dead_letters, error) = match &health.cluster {
        Ok(cluster) => (cluster.progress.as_ref(), Some(cluster.dead_letters), None),
        Err(reason) => (None, None, Some(reason)),
    };
    json!({
        "connector": one.name,
        "serverLsn": health.server.to_string(),
        "slot": slot,
        "tables": health.tables.iter().map(table).collect::<Vec<_>>(),
        "progress": progress.map(|progress| json!({
            "endLsn": progress.end_lsn.to_string(),
            "systemId": progress.system_id,
            "timeline": progress.timeline,
            "lastEventId": progress.last_event_id.as_deref().map(String::from_utf8_lossy),
        })),
        "deadLetters": dead_letters,
        "clusterError": error,
    })
}
