//! `pillion outbox init`: what a database needs, printed or made.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use pillion_cdc::outbox::{self, Setup};
use pillion_cdc::{ConnectorConfig, TableName, checks};

use crate::cli::flags::{ConfigurationFlags, SourceFlags};
use crate::cli::process::{self, Kind};
use crate::config::{POSTGRES_URL, Parts};

/// Print the SQL for outbox table, publication and replication slot, or run it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion outbox init                                       look at the SQL; needs no database
  pillion outbox init --table orders.outbox | psql URL      run it yourself
  pillion outbox init --postgres URL --apply                run it; what exists is left alone
  pillion outbox init --role relay --postgres URL --apply   also make a role for the connector
  pillion outbox init --partitioned --postgres URL --apply  a partition a day, dropped by `outbox prune`
  pillion outbox init --inbox --postgres URL --apply        the table of a consumer, in its own database

The table is the one of Debezium's outbox event router. A service writes an event in the
transaction that makes it true:
  INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
  VALUES (gen_random_uuid(), 'order', '42', 'OrderPlaced', '{\"total\": 100}');
and it arrives on topic outbox.event.order with key 42.")]
pub(super) struct Init {
    #[command(flatten)]
    source: SourceFlags,
    /// Also make this login role: it may replicate, and read and prune the outbox tables
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Make tables of partitions by time, one a day unless said otherwise. Their primary key is (id, created_at)
    #[arg(long, value_name = "INTERVAL", num_args = 0..=1, default_missing_value = "day", require_equals = true)]
    partitioned: Option<Interval>,
    /// Make a consumer's inbox instead: the table that remembers which events were processed [default: public.inbox]
    #[arg(
        long,
        value_name = "[SCHEMA.]TABLE",
        num_args = 0..=1,
        default_missing_value = "public.inbox",
        require_equals = true,
        conflicts_with_all = ["role", "partitioned", "tables", "slot", "publication"]
    )]
    inbox: Option<TableName>,
    /// Run the statements in the database after printing them
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

/// How much time a partition holds.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Interval {
    Day,
    Week,
    Month,
}

impl Init {
    pub(super) fn execute(self) -> Result<()> {
        let config = self.read()?;
        let setup = Setup {
            role: self.role.clone(),
            partitions: self.partitioned.map(|interval| match interval {
                Interval::Day => outbox::Interval::Day,
                Interval::Week => outbox::Interval::Week,
                Interval::Month => outbox::Interval::Month,
            }),
        };
        let sql = match &self.inbox {
            Some(table) => outbox::inbox_statements(table).join("\n\n") + "\n",
            None => outbox::init_sql(&config.source(), &setup),
        };
        write!(std::io::stdout().lock(), "{sql}")?;
        if !self.apply {
            return Ok(());
        }
        process::run(Kind::Tool, async {
            match &self.inbox {
                Some(table) => apply_inbox(&config, table).await,
                None => apply(&config, &setup).await,
            }
        })
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

async fn apply(config: &ConnectorConfig, setup: &Setup) -> Result<()> {
    let source = config.source();
    let database = &config.postgres;
    outbox::apply(database, &source, setup).await.with_context(|| format!("cannot prepare {database}"))?;
    let failures = checks::run(database, &source).await.with_context(|| format!("cannot check {database}"))?;
    if !failures.is_empty() {
        let list: String = failures.iter().map(|failure| format!("\n  - {failure}")).collect();
        anyhow::bail!("{database} is not ready yet:{list}");
    }
    let tables: Vec<String> = source.tables.iter().map(ToString::to_string).collect();
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "\n-- {database} is ready: table {}, publication {}, slot {}",
        tables.join(", "),
        source.publication,
        source.slot
    )?;
    Ok(())
}

async fn apply_inbox(config: &ConnectorConfig, table: &TableName) -> Result<()> {
    let database = &config.postgres;
    outbox::apply_inbox(database, table).await.with_context(|| format!("cannot prepare {database}"))?;
    writeln!(std::io::stdout().lock(), "\n-- {database} has the inbox {table}")?;
    Ok(())
}
