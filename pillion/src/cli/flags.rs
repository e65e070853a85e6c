//! Flags that several commands share, and how they become configuration.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use pillion_client::{Client, ClientConfig};

use super::security::SecurityFlags;
use crate::config::{self, Configuration, Layers, Parts};

/// Where settings come from.
#[derive(Debug, Args, Default)]
pub(super) struct ConfigurationFlags {
    /// Read settings from a TOML file; the environment (PILLION_*) and flags have the last word
    #[arg(long, value_name = "FILE", env = "PILLION_CONFIG", global = false)]
    pub(super) config: Option<PathBuf>,
    /// Set any key, as Kafka and Debezium name them (`pillion config` lists them); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
}

impl ConfigurationFlags {
    /// Puts file, environment and flags on top of each other; `add_flags` adds those of the command itself.
    pub(super) fn read(&self, parts: Parts, add_flags: impl FnOnce(&mut Layers)) -> Result<Configuration> {
        Ok(Configuration::read(self.layers(parts, add_flags), parts)?)
    }

    /// The layers, values not looked at yet.
    pub(super) fn layers(&self, parts: Parts, add_flags: impl FnOnce(&mut Layers)) -> Layers {
        let mut layers = Layers::default();
        if let Some(path) = &self.config {
            layers.add_file(path);
        }
        // A variable that is not text cannot be one of ours.
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        layers.add_environment(variables);
        for assignment in &self.set {
            layers.add_set(assignment, &parts.list());
        }
        add_flags(&mut layers);
        layers
    }
}

/// The broker's flags.
#[derive(Debug, Args, Default)]
pub(super) struct BrokerFlags {
    /// Keep logs and topics in this directory [default: ./pillion-data]
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Listen here; port 0 picks a free one. The bound address is the first line on standard output
    /// [default: 127.0.0.1:9092]
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) listen: Option<String>,
    /// One more listener, with the address its clients are told to connect to; may be repeated
    #[arg(long = "listener", value_name = "NAME://HOST:PORT[=ADVERTISED]")]
    pub(super) listeners: Vec<String>,
}

impl BrokerFlags {
    pub(super) fn add_to(&self, layers: &mut Layers) {
        if let Some(directory) = &self.data_dir {
            layers.add_flag("--data-dir", config::LOG_DIRS, directory.to_string_lossy().into_owned());
        }
        let listeners: Vec<&str> = self.listen.iter().chain(&self.listeners).map(String::as_str).collect();
        if !listeners.is_empty() {
            let flag = if self.listen.is_some() { "--listen" } else { "--listener" };
            layers.add_flag(flag, config::LISTENERS, listeners.join(","));
        }
    }
}

/// The connector's flags.
#[derive(Debug, Args, Default)]
pub(super) struct ConnectorFlags {
    #[command(flatten)]
    pub(super) source: SourceFlags,
    /// Publish to these brokers; more than one with commas
    #[arg(long, value_name = "HOST:PORT")]
    pub(super) bootstrap: Option<String>,
    /// Make table, publication and slot when they are missing
    #[arg(long)]
    pub(super) auto_init: bool,
}

impl ConnectorFlags {
    pub(super) fn add_to(&self, layers: &mut Layers) {
        self.source.add_to(layers);
        if let Some(bootstrap) = &self.bootstrap {
            layers.add_flag("--bootstrap", config::BOOTSTRAP_SERVERS, bootstrap.clone());
        }
        if self.auto_init {
            layers.add_flag("--auto-init", config::AUTO_INIT, "true".to_owned());
        }
    }
}

/// Which database, and what of it.
#[derive(Debug, Args, Default)]
pub(super) struct SourceFlags {
    /// Only this one of the configuration's connectors
    #[arg(long, value_name = "NAME")]
    pub(super) connector: Option<String>,
    /// The database of the outbox: postgresql://user:password@host:port/database
    #[arg(long, value_name = "URL")]
    pub(super) postgres: Option<String>,
    /// Replication slot [default: pillion]
    #[arg(long, value_name = "NAME")]
    pub(super) slot: Option<String>,
    /// Publication [default: pillion_outbox]
    #[arg(long, value_name = "NAME")]
    pub(super) publication: Option<String>,
    /// Outbox table; may be repeated [default: public.outbox]
    #[arg(long = "table", value_name = "[SCHEMA.]TABLE")]
    pub(super) tables: Vec<String>,
}

impl SourceFlags {
    pub(super) fn add_to(&self, layers: &mut Layers) {
        if let Some(name) = &self.connector {
            layers.select(name);
        }
        let single = [
            ("--postgres", config::POSTGRES_URL, &self.postgres),
            ("--slot", config::SLOT_NAME, &self.slot),
            ("--publication", config::PUBLICATION_NAME, &self.publication),
        ];
        for (flag, key, value) in single {
            if let Some(value) = value {
                layers.add_flag(flag, key, value.clone());
            }
        }
        if !self.tables.is_empty() {
            layers.add_flag("--table", config::TABLE_INCLUDE_LIST, self.tables.join(","));
        }
    }
}

/// Which cluster a tool talks to: pillion's broker or any Apache Kafka.
#[derive(Debug, Args)]
pub(super) struct ClusterFlags {
    /// Brokers to ask; more than one with commas
    #[arg(
        short,
        long,
        alias = "bootstrap-server",
        value_name = "HOST:PORT",
        env = "PILLION_BOOTSTRAP",
        default_value = "127.0.0.1:9092"
    )]
    pub(super) bootstrap: String,
    /// Give up on a request after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
    #[command(flatten)]
    security: SecurityFlags,
}

impl ClusterFlags {
    /// Bound of one request.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// Connects.
    pub(super) async fn connect(&self) -> Result<Client> {
        let config = ClientConfig {
            bootstrap_servers: self.bootstrap.split(',').map(|server| server.trim().to_owned()).collect(),
            client_id: "pillion".to_owned(),
            security: self.security.read()?,
            request_timeout: self.timeout(),
            ..ClientConfig::default()
        };
        Client::connect(config).await.context("no connection to the cluster")
    }
}
