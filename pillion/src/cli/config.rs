//! `pillion config`: every key, its value in force, and where that comes from; a check; and the table of all keys.

mod markdown;

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::flags::{BrokerFlags, ConfigurationFlags, ConnectorFlags};
use super::text::Table;
use crate::config::{self, Change, Configuration, Layers, Part, Parts};

/// Show every setting in force and where it comes from
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  pillion config                                  the defaults, and what the environment changes
  pillion config --config pillion.toml --changed  what a file and the environment change
  pillion config --set num.partitions=3 --json
  pillion config check --config server.properties every problem at once, for a deployment's gate
  pillion config keys                             every key, what it takes and what for

Takes the flags of `pillion run`. Passwords are not shown."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    source: Source,
    /// Only what differs from the defaults
    #[arg(long)]
    changed: bool,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Box<Check>),
    Keys(Keys),
}

/// Where settings come from: what `pillion run` takes.
#[derive(Debug, Args)]
struct Source {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    connector: ConnectorFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

/// Check a configuration without starting anything
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion config check --config pillion.toml
  pillion config check --config /etc/kafka/server.properties --json

The exit code is 1 when something is wrong: every problem is shown.")]
struct Check {
    #[command(flatten)]
    source: Source,
    /// Print JSON
    #[arg(short = 'J', long)]
    json: bool,
}

/// List every key: type, default, when a change takes effect, and what it is for
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion config keys
  pillion config keys --markdown > docs/configuration.md")]
struct Keys {
    /// Print docs/configuration.md
    #[arg(long)]
    markdown: bool,
    /// Print JSON
    #[arg(short = 'J', long, conflicts_with = "markdown")]
    json: bool,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        match &self.command {
            Some(Command::Check(check)) => check.execute(),
            Some(Command::Keys(keys)) => keys.execute(),
            None => self.show(),
        }
    }

    fn show(&self) -> Result<()> {
        let mut effective = config::effective(self.source.layers())?;
        effective.retain(|setting| !self.changed || setting.origin != config::Origin::Default);
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let list = effective.iter().map(
                |setting| json!({ "key": setting.key, "value": setting.value, "origin": setting.origin.to_string() }),
            );
            writeln!(stdout, "{}", Value::from_iter(list))?;
            return Ok(());
        }
        let mut table = Table::new(["KEY", "VALUE", "FROM"]);
        for setting in effective {
            table.push([setting.key, setting.value.unwrap_or_default(), setting.origin.to_string()]);
        }
        Ok(table.write(&mut stdout)?)
    }
}

impl Source {
    fn layers(&self) -> Layers {
        self.configuration.layers(Parts { broker: true, connector: true }, |layers| {
            self.broker.add_to(layers);
            self.connector.add_to(layers);
        })
    }
}

impl Check {
    fn execute(&self) -> Result<()> {
        let mut layers = self.source.layers();
        layers.add_default(config::POSTGRES_URL, config::NO_DATABASE);
        let outcome = Configuration::read(layers, Parts { broker: true, connector: true });
        let (problems, warnings) = match outcome {
            Ok(configuration) => (Vec::new(), configuration.warnings),
            Err(error) => (error.problems, Vec::new()),
        };
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let document = json!({ "usable": problems.is_empty(), "problems": problems, "warnings": warnings });
            writeln!(stdout, "{document}")?;
        } else {
            warnings.iter().try_for_each(|warning| writeln!(stdout, "warning: {warning}"))?;
            problems.iter().try_for_each(|problem| writeln!(stdout, "problem: {problem}"))?;
            if problems.is_empty() {
                writeln!(stdout, "the configuration can be used")?;
            }
        }
        match problems.len() {
            0 => Ok(()),
            1 => bail!("the configuration cannot be used: one problem"),
            count => bail!("the configuration cannot be used: {count} problems"),
        }
    }
}

impl Keys {
    fn execute(&self) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        if self.markdown {
            write!(stdout, "{}", markdown::document())?;
            return Ok(());
        }
        if self.json {
            let list = config::keys().iter().map(|key| {
                json!({
                    "key": key.name,
                    "for": part(key.part),
                    "type": key.kind,
                    "takes": key.expected,
                    "default": key.default,
                    "change": change(key.change),
                    "purpose": key.purpose,
                    "environment": config::environment_name(key.name),
                })
            });
            writeln!(stdout, "{}", Value::from_iter(list))?;
            return Ok(());
        }
        let mut table = Table::new(["KEY", "TYPE", "DEFAULT", "CHANGE", "FOR"]);
        for key in config::keys() {
            let default = key.default.unwrap_or("-").to_owned();
            let texts = [key.name, key.kind, &default, change(key.change), key.purpose];
            table.push(texts.map(str::to_owned));
        }
        Ok(table.write(&mut stdout)?)
    }
}

fn part(part: Part) -> &'static str {
    match part {
        Part::Broker => "broker",
        Part::Connector => "connector",
        Part::Process => "process",
    }
}

fn change(change: Change) -> &'static str {
    match change {
        Change::AtStart => "at start",
        Change::AtRunTime => "at run time",
        Change::OnReload => "SIGHUP",
    }
}
