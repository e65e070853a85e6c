//! `pillion dev`: `pillion run` on a PostgreSQL of its own.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::flags::{BrokerFlags, ConfigurationFlags};
use super::process::{self, Kind};
use crate::config::{self, Layers, Parts};
use crate::embedded_postgres::{BinarySource, EmbeddedPostgres, EmbeddedPostgresOptions};
use crate::sidecar::Sidecar;
use crate::signals;

/// Run broker and connector with an embedded PostgreSQL, for developing a service
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion dev                                       everything temporary, removed at the end
  pillion dev --data-dir ./dev --postgres-port 5433
  pillion dev --table orders.outbox --table payments.outbox

PostgreSQL is found on this machine, else fetched once (about 15 MB); it listens on 127.0.0.1
and is yours to use. The first line on standard output is the broker's address, the next ones
are commands to try.")]
pub(super) struct Arguments {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    postgres: PostgresFlags,
    /// Outbox table; may be repeated [default: public.outbox]
    #[arg(long = "table", value_name = "[SCHEMA.]TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

/// Flags of commands that start a PostgreSQL.
#[derive(Debug, Args)]
pub(super) struct PostgresFlags {
    /// Which PostgreSQL programs: auto (found here, else fetched), fetch, or a directory with `postgres` and `initdb`
    #[arg(long, value_name = "auto|fetch|DIR", env = "PILLION_POSTGRES_BINARIES", default_value = "auto")]
    postgres_binaries: BinarySource,
    /// Port of the PostgreSQL on 127.0.0.1; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    postgres_port: u16,
}

impl PostgresFlags {
    /// Options for a cluster in `directory`, or a temporary one.
    pub(super) fn options(self, directory: Option<PathBuf>) -> EmbeddedPostgresOptions {
        EmbeddedPostgresOptions { binaries: self.postgres_binaries, directory, port: self.postgres_port }
    }
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        process::run(Kind::Conversation, self.run())
    }

    async fn run(mut self) -> Result<()> {
        let stop = signals::stop_on_signal()?;
        let parts = Parts { broker: true, connector: true };
        let kept = self.broker.data_dir.take();
        // Settings are checked before PostgreSQL is started for them.
        self.configuration.read(parts, |layers| self.add_to(layers, "postgresql://postgres@127.0.0.1/postgres"))?;

        let options = std::mem::take(&mut self.postgres).options(kept.as_ref().map(|kept| kept.join("postgres")));
        let mut postgres = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            started = EmbeddedPostgres::start(options) => started?,
        };
        // A temporary broker lives in PostgreSQL's temporary directory and goes with it.
        let base = kept.as_deref().unwrap_or(postgres.directory());
        self.broker.data_dir = Some(base.join("broker"));
        let url = postgres.url("postgres");
        let served = async {
            let configuration = self.configuration.read(parts, |layers| self.add_to(layers, &url))?;
            let mut sidecar = Sidecar::start(configuration).await?;
            let outcome = match sidecar.announce().and_then(|()| print_addresses(&sidecar, &url)) {
                Ok(()) => tokio::select! {
                    () = stop.cancelled() => Ok(()),
                    ended = sidecar.ended() => ended,
                    ended = postgres.ended() => ended,
                },
                Err(error) => Err(error),
            };
            outcome.and(sidecar.stop().await)
        };
        let outcome = served.await;
        outcome.and(postgres.stop().await)
    }

    fn add_to(&self, layers: &mut Layers, url: &str) {
        self.broker.add_to(layers);
        layers.add_flag("pillion dev", config::POSTGRES_URL, url.to_owned());
        layers.add_flag("pillion dev", config::AUTO_INIT, "true".to_owned());
        if !self.tables.is_empty() {
            layers.add_flag("--table", config::TABLE_INCLUDE_LIST, self.tables.join(","));
        }
    }
}

impl Default for PostgresFlags {
    fn default() -> Self {
        Self { postgres_binaries: BinarySource::Auto, postgres_port: 0 }
    }
}

fn print_addresses(sidecar: &Sidecar, url: &str) -> Result<()> {
    let address = sidecar.broker_address().context("the broker has an address")?;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "
PostgreSQL  {url}
Kafka       {address}

Write an event:
  psql '{url}' -c \"INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload) VALUES (gen_random_uuid(), 'order', '42', 'OrderPlaced', '{{}}')\"
Read it:
  kcat -b {address} -C -t outbox.event.order
  pillion consume outbox.event.order -b {address} --json

Ctrl-C stops everything."
    )?;
    stdout.flush()?;
    Ok(())
}
