//! `pillion dead-letter replay`: writes rows to their outbox again.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use pillion_cdc::ConnectorConfig;
use pillion_cdc::outbox::{self, DeadLetter};
use pillion_client::{Client, ClientConfig};

use super::found::{Found, Place, read};
use crate::cli::connectors::ConnectorsFlags;
use crate::cli::process::{self, Kind};

/// Write rows to their outbox table again, mended if need be; the connector publishes them
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("which").required(true).args(["places", "all"])),
    after_help = "\
Examples:
  pillion dead-letter replay 0:17 --config pillion.toml
  pillion dead-letter replay 0:17 --config pillion.toml --column 'payload={\"total\": 100}'
  pillion dead-letter replay --all --postgres URL --bootstrap H:9092 --dry-run

Each row is written in a transaction of its own, with the id it had; what stands in the table
under that id is replaced. It is published behind what was published since: for its key that is
another order. The dead letter stays on its topic. A role that may INSERT and DELETE is needed.
A row that is still wrong becomes a dead letter again."
)]
pub(super) struct Replay {
    /// Partition and offset
    #[arg(value_name = "PARTITION:OFFSET")]
    places: Vec<Place>,
    /// Every dead letter there is
    #[arg(long)]
    all: bool,
    /// Put this value into a column first; without = it becomes null; may be repeated
    #[arg(short = 'c', long = "column", value_name = "COLUMN[=VALUE]")]
    columns: Vec<String>,
    /// Write nothing, say what would be
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    connectors: ConnectorsFlags,
}

impl Replay {
    pub(super) fn execute(self) -> Result<()> {
        let one = self.connectors.one()?;
        process::run(Kind::Tool, async {
            let config = &one.config;
            let client = connect(config).await?;
            let found = read(&client, &config.dead_letter_topic, &self.places).await?;
            client.shutdown().await;
            let missing = self.places.iter().find(|place| !found.iter().any(|one| one.place() == **place));
            if let Some(missing) = missing {
                bail!("there is no record at {missing} of {}", config.dead_letter_topic);
            }
            let mut failures = Vec::new();
            for one in &found {
                if let Err(error) = self.replay(config, one).await {
                    failures.push(format!("{}: {error:#}", one.place()));
                }
            }
            if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n")) }
        })
    }

    async fn replay(&self, config: &ConnectorConfig, one: &Found) -> Result<()> {
        let mut letter: DeadLetter = one.letter.clone().context("no dead letter of the connector's")?;
        for column in &self.columns {
            let (name, value) = column.split_once('=').map_or((&**column, None), |(name, value)| (name, Some(value)));
            letter.mend(name, value)?;
        }
        let what = format!("{} of {} at {}", one.id().unwrap_or_else(|| "a row".to_owned()), letter.table, one.place());
        let say = |done: &str| writeln!(std::io::stdout().lock(), "{done} {what}");
        if self.dry_run {
            return Ok(say("would write")?);
        }
        let replaced = outbox::write_back(config, &letter).await?;
        Ok(say(if replaced { "replaced" } else { "wrote" })?)
    }
}

/// Connects to the cluster that the connector publishes to.
async fn connect(config: &ConnectorConfig) -> Result<Client> {
    let config = ClientConfig {
        bootstrap_servers: config.bootstrap_servers.clone(),
        client_id: "pillion".to_owned(),
        security: config.security.clone(),
        ..ClientConfig::default()
    };
    Client::connect(config).await.context("no connection to the cluster")
}
