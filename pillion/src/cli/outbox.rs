//! `pillion outbox init`: what a database needs, printed or made.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use pillion_cdc::{ConnectorConfig, checks, outbox};

use super::flags::{ConfigurationFlags, SourceFlags};
use super::process::{self, Kind};
use crate::config::{POSTGRES_URL, Parts};

/// Prepare a database for the connector
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(Init),
}

/// Print the SQL for outbox table, publication and replication slot, or run it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion outbox init                                       look at the SQL; needs no database
  pillion outbox init --table orders.outbox | psql URL      run it yourself
  pillion outbox init --postgres URL --apply                run it; what exists is left alone
  pillion outbox init --role relay --postgres URL --apply   also make a role for the connector

The table is the one of Debezium's outbox event router. A service writes an event in the
transaction that makes it true:
  INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
  VALUES (gen_random_uuid(), 'order', '42', 'OrderPlaced', '{\"total\": 100}');
and it arrives on topic outbox.event.order with key 42.")]
struct Init {
    #[command(flatten)]
    source: SourceFlags,
    /// Also make this login role, which may replicate and do nothing else
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Run the statements in the database instead of printing them
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match self.command {
            Command::Init(init) => init.execute(),
        }
    }
}

impl Init {
    fn execute(self) -> Result<()> {
        let config = self.read()?;
        if !self.apply {
            let mut stdout = std::io::stdout().lock();
            write!(stdout, "{}", outbox::init_sql(&config.source(), self.role.as_deref()))?;
            return Ok(());
        }
        process::run(Kind::Tool, apply(&config, self.role.as_deref()))
    }

    fn read(&self) -> Result<ConnectorConfig> {
        let configuration = self.configuration.read(Parts { broker: false, connector: true }, |layers| {
            // Printing asks no database, so it needs none to be named.
            if !self.apply {
                layers.add_default(POSTGRES_URL, "postgresql://nobody@localhost/nowhere");
            }
            self.source.add_to(layers);
        })?;
        configuration.connector.context("a connector was asked for")
    }
}

async fn apply(config: &ConnectorConfig, role: Option<&str>) -> Result<()> {
    let source = config.source();
    let database = &config.postgres;
    outbox::apply(database, &source, role).await.with_context(|| format!("cannot prepare {database}"))?;
    let failures = checks::run(database, &source).await.with_context(|| format!("cannot check {database}"))?;
    if !failures.is_empty() {
        let list: String = failures.iter().map(|failure| format!("\n  - {failure}")).collect();
        anyhow::bail!("{database} is not ready yet:{list}");
    }
    let tables: Vec<String> = source.tables.iter().map(ToString::to_string).collect();
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{database} is ready: table {}, publication {}, slot {}",
        tables.join(", "),
        source.publication,
        source.slot
    )?;
    Ok(())
}
