//! Which connectors of a configuration a command is about.

use anyhow::{Result, bail};
use clap::Args;
use pillion_cdc::ConnectorConfig;

use super::flags::{ConfigurationFlags, SourceFlags};
use crate::config::{self, Configuration, Parts};

/// The database, the cluster and the settings of one connector or several.
#[derive(Debug, Args)]
pub(super) struct ConnectorsFlags {
    #[command(flatten)]
    source: SourceFlags,
    /// The brokers it publishes to; more than one with commas
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap: Option<String>,
    #[command(flatten)]
    configuration: ConfigurationFlags,
}

/// A connector by name.
pub(super) struct Chosen {
    /// Its name in the file, or `default`.
    pub(super) name: String,
    /// Its settings.
    pub(super) config: ConnectorConfig,
}

impl ConnectorsFlags {
    /// All that are meant, one at least.
    pub(super) fn all(&self) -> Result<Vec<Chosen>> {
        let configuration = self.configuration.read(Parts { broker: false, connector: true }, |layers| {
            self.source.add_to(layers);
            if let Some(bootstrap) = &self.bootstrap {
                layers.add_flag("--bootstrap", config::BOOTSTRAP_SERVERS, bootstrap.clone());
            }
        })?;
        let plain = self.source.connector.clone().unwrap_or_else(|| "default".to_owned());
        let chosen = listed(configuration, plain);
        if chosen.is_empty() {
            bail!("the configuration has no connector");
        }
        Ok(chosen)
    }

    /// The one that is meant.
    pub(super) fn one(&self) -> Result<Chosen> {
        let mut chosen = self.all()?;
        match chosen.pop() {
            Some(one) if chosen.is_empty() => Ok(one),
            last => {
                let names: Vec<&str> = chosen.iter().chain(&last).map(|one| one.name.as_str()).collect();
                bail!("the configuration has several connectors; name one with --connector: {}", names.join(", "))
            }
        }
    }
}

fn listed(configuration: Configuration, plain: String) -> Vec<Chosen> {
    let plain = configuration.connector.map(|config| Chosen { name: plain, config });
    let named = configuration.named_connectors.into_iter();
    plain.into_iter().chain(named.map(|named| Chosen { name: named.name, config: named.config })).collect()
}
