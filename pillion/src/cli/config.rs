//! `pillion config`: every key, its value in force, and where that comes from.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::flags::{BrokerFlags, ConfigurationFlags, ConnectorFlags};
use super::text::{row, write_columns};
use crate::config::{self, Parts};

/// Show every setting in force and where it comes from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pillion config                                  the defaults, and what the environment changes
  pillion config --config pillion.toml            check a file: every problem is shown at once
  pillion config --set num.partitions=3 --json

Takes the flags of `pillion run`. Passwords are not shown.")]
pub(super) struct Arguments {
    #[command(flatten)]
    broker: BrokerFlags,
    #[command(flatten)]
    connector: ConnectorFlags,
    #[command(flatten)]
    configuration: ConfigurationFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<()> {
        let layers = self.configuration.layers(Parts { broker: true, connector: true }, |layers| {
            self.broker.add_to(layers);
            self.connector.add_to(layers);
        });
        let effective = config::effective(layers)?;
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let list = effective.iter().map(
                |setting| json!({ "key": setting.key, "value": setting.value, "origin": setting.origin.to_string() }),
            );
            writeln!(stdout, "{}", serde_json::Value::from_iter(list))?;
        } else {
            let mut rows = vec![row(["KEY", "VALUE", "FROM"])];
            rows.extend(
                effective
                    .into_iter()
                    .map(|setting| vec![setting.key, setting.value.unwrap_or_default(), setting.origin.to_string()]),
            );
            write_columns(&mut stdout, &rows)?;
        }
        Ok(())
    }
}
