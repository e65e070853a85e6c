//! `pillion dead-letter`: what the connector could not publish, and publishing it after all.

mod found;
mod replay;

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use pillion_cdc::outbox::DeadLetter;
use pillion_client::Client;
use serde_json::{Value, json};

use self::found::{Found, Place, read};
use super::consume::{record_document, write_pretty};
use super::flags::ClusterFlags;
use super::process::{self, Kind};
use super::text::{Table, instant};

/// Where the connector sends rows to unless told otherwise.
const DEFAULT_TOPIC: &str = "outbox.dead-letter";

/// List, show and replay rows that could not be published
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion dead-letter list
  pillion dead-letter show 0:17                       partition 0, offset 17
  pillion dead-letter replay 0:17 --postgres URL --bootstrap H:9092 --column 'payload={\"total\": 100}'

Rows come here with on.error=dead-letter.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Replay(replay::Replay),
}

/// List dead letters with what was wrong
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion dead-letter list
  pillion dead-letter list --table public.outbox --reason topic --json")]
struct List {
    /// The topic they are on (dead.letter.topic)
    #[arg(long, value_name = "TOPIC", default_value = DEFAULT_TOPIC)]
    topic: String,
    /// Only of this table
    #[arg(long, value_name = "SCHEMA.TABLE")]
    table: Option<String>,
    /// Only those whose reason has this text in it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print one JSON object a line
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Show dead letters whole, with the row
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion dead-letter show 0:17 0:18
  pillion dead-letter show 0:17 --json")]
struct Show {
    /// Partition and offset
    #[arg(required = true, value_name = "PARTITION:OFFSET")]
    places: Vec<Place>,
    /// The topic they are on (dead.letter.topic)
    #[arg(long, value_name = "TOPIC", default_value = DEFAULT_TOPIC)]
    topic: String,
    /// Print one JSON object a line
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::List(list) => process::run(Kind::Tool, list.execute()),
            Command::Show(show) => process::run(Kind::Tool, show.execute()),
            Command::Replay(replay) => replay.execute(),
        }
    }
}

impl List {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let found = all(&client, &self.topic).await?;
        client.shutdown().await;
        let mut stdout = std::io::stdout().lock();
        let mut table = Table::new(["PLACE", "TIME", "TABLE", "LSN", ">ORDINAL", "ID", "REASON"]);
        for one in found {
            let letter = one.letter.as_ref();
            let is_wanted = |letter: &DeadLetter| {
                self.table.as_ref().is_none_or(|table| *table == letter.table)
                    && self.reason.as_ref().is_none_or(|reason| letter.reason.contains(reason.as_str()))
            };
            let is_filtered = self.table.is_some() || self.reason.is_some();
            if !letter.map_or(!is_filtered, is_wanted) {
                continue;
            }
            if self.json {
                writeln!(stdout, "{}", summary(&one))?;
                continue;
            }
            let of_letter = |text: fn(&DeadLetter) -> String| letter.map_or_else(|| "?".to_owned(), text);
            table.push([
                one.place().to_string(),
                instant(one.record.timestamp_ms),
                of_letter(|letter| letter.table.clone()),
                of_letter(|letter| letter.commit_lsn.clone()),
                of_letter(|letter| letter.ordinal.to_string()),
                one.id().unwrap_or_default(),
                of_letter(|letter| letter.reason.clone()),
            ]);
        }
        if self.json { Ok(()) } else { Ok(table.write(&mut stdout)?) }
    }
}

fn summary(one: &Found) -> Value {
    let letter = one.letter.as_ref();
    json!({
        "partition": one.record.partition,
        "offset": one.record.offset,
        "timestamp": one.record.timestamp_ms,
        "table": letter.map(|letter| &letter.table),
        "commitLsn": letter.map(|letter| &letter.commit_lsn),
        "ordinal": letter.map(|letter| letter.ordinal),
        "id": one.id(),
        "reason": letter.map(|letter| &letter.reason),
        "truncated": letter.map(|letter| &letter.truncated),
    })
}

/// Every dead letter; none where the topic is not there yet.
async fn all(client: &Client, topic: &str) -> Result<Vec<Found>> {
    let listed = client.admin().list_topics().await?;
    if listed.iter().all(|known| known.name != topic) {
        return Ok(Vec::new());
    }
    read(client, topic, &[]).await
}

impl Show {
    async fn execute(self) -> Result<()> {
        let client = self.cluster.connect().await?;
        let found = read(&client, &self.topic, &self.places).await?;
        client.shutdown().await;
        let mut stdout = std::io::stdout().lock();
        for one in &found {
            match self.json {
                true => {
                    let mut document = record_document(&one.record);
                    let value = one.record.value.as_deref().and_then(|value| serde_json::from_slice(value).ok());
                    document["letter"] = value.unwrap_or(Value::Null);
                    writeln!(stdout, "{document}")?;
                }
                false => write_pretty(&mut stdout, &one.record)?,
            }
        }
        let missing: Vec<String> = self
            .places
            .iter()
            .filter(|place| !found.iter().any(|one| one.place() == **place))
            .map(ToString::to_string)
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            bail!("there is no record at {} of {}", missing.join(", "), self.topic)
        }
    }
}
