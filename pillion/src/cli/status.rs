//! `pillion status`: a cluster and its connectors on one screen.
//!
//! ```text
//! Kafka's protocol ─┐
//! Postgres         ─┼─ look ─ two of them, a moment apart: rates ─ screen or JSON
//! console (HTTP)   ─┘
//! ```
//! What a cluster of Kafka's cannot tell (memory, uptime, last errors) comes from the console of a pillion beside it, and
//! only if that is the same cluster.

mod console;
mod document;
mod look;
mod rates;
mod screen;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use pillion_cdc::ConnectorConfig;
use pillion_client::Client;
use tokio_util::sync::CancellationToken;

use self::look::Look;
use self::rates::Rates;
use super::duration;
use super::flags::{ClusterFlags, ConfigurationFlags, SourceFlags};
use super::process::{self, Kind};
use crate::config::{self, Parts};
use crate::signals;

/// Show brokers, topics, groups, connectors and disk on one screen
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion status                                   the broker on this machine
  pillion status --watch
  pillion status --postgres URL                    with the outbox of a database
  pillion status --config pillion.toml --json
  pillion status -b kafka-1:9092 --all

Rates are those of a second. Uptime, memory and last errors are shown where the console of the
same broker answers (ui.listen). The exit code is 0 whatever is seen: `pillion doctor` judges.")]
pub(super) struct Arguments {
    /// Show it again and again, until stopped
    #[arg(short, long)]
    watch: bool,
    /// With --watch, so often
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    every: Duration,
    /// Show every topic and group, not only the busiest
    #[arg(long)]
    all: bool,
    /// Print JSON; with --watch, an object a line
    #[arg(short = 'J', long)]
    json: bool,
    /// Where the broker's console answers
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9180")]
    console: String,
    #[command(flatten)]
    cluster: ClusterFlags,
    #[command(flatten)]
    source: SourceFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

/// How long the first two looks are apart.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let connectors = self.connectors()?;
        process::run(Kind::Tool, async {
            let stop = signals::stop_on_signal()?;
            let client = self.cluster.connect().await?;
            let shown = self.show(&client, &connectors, &stop).await;
            client.shutdown().await;
            shown
        })
    }

    async fn show(
        &self,
        client: &Client,
        connectors: &[(String, ConnectorConfig)],
        stop: &CancellationToken,
    ) -> Result<()> {
        let mut before = Look::take(client, connectors, &self.console).await?;
        let mut interval = FIRST_INTERVAL;
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(interval) => {}
            }
            let now = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                look = Look::take(client, connectors, &self.console) => look?,
            };
            self.write(&now, &Rates::between(&before, &now))?;
            if !self.watch {
                return Ok(());
            }
            (before, interval) = (now, self.every.max(Duration::from_millis(200)));
        }
    }

    fn write(&self, look: &Look, rates: &Rates) -> Result<()> {
        let mut text = Vec::new();
        if self.json {
            writeln!(text, "{}", document::document(look, rates))?;
        } else {
            if self.watch && std::io::stdout().is_terminal() {
                // To the upper left, and nothing of what was below.
                write!(text, "\u{1b}[H\u{1b}[2J")?;
            }
            screen::write(&mut text, look, rates, self.all)?;
            if self.watch && !std::io::stdout().is_terminal() {
                writeln!(text)?;
            }
        }
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&text)?;
        Ok(stdout.flush()?)
    }

    /// The connectors that flags or a file name, by name; none where no database is named.
    fn connectors(&self) -> Result<Vec<(String, ConnectorConfig)>> {
        if self.source.postgres.is_none() && self.configuration.config.is_none() && self.configuration.set.is_empty() {
            return Ok(Vec::new());
        }
        let parts = Parts { broker: false, connector: true };
        let configuration = self.configuration.read(parts, |layers| {
            layers.add_default(config::POSTGRES_URL, config::NO_DATABASE);
            self.source.add_to(layers);
            if !layers.has(config::BOOTSTRAP_SERVERS) {
                layers.add_flag("--bootstrap", config::BOOTSTRAP_SERVERS, self.cluster.bootstrap.clone());
            }
        })?;
        let nowhere: Option<pillion_cdc::PostgresUrl> = config::NO_DATABASE.parse().ok();
        let plain = configuration.connector.map(|config| ("default".to_owned(), config));
        let named = configuration.named_connectors.into_iter().map(|named| (named.name, named.config));
        let all = plain.into_iter().chain(named);
        Ok(all
            .filter(|(_, config)| Some(config.postgres.to_string()) != nowhere.as_ref().map(ToString::to_string))
            .collect())
    }
}
