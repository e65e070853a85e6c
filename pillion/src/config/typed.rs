//! From texts to the broker's and the connector's own typed settings.

use std::path::PathBuf;

use pillion_broker::BrokerConfig;
use pillion_cdc::ConnectorConfig;
use pillion_console::ConsoleConfig;
use pillion_trace_context::telemetry;

use super::connectors::{self, NamedConnector};
use super::keys::{self, Part};
use super::layers::{Layers, Origin, Said, Setting, Settings};
use super::listeners;
use super::problem::ConfigurationError;

/// Which parts of pillion a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The broker.
    pub(crate) broker: bool,
    /// The outbox connector, which needs a database.
    pub(crate) connector: bool,
}

impl Parts {
    /// For [`Layers::add_set`].
    pub(crate) fn list(self) -> Vec<Part> {
        let broker = self.broker.then_some(Part::Broker);
        broker.into_iter().chain(self.connector.then_some(Part::Connector)).chain([Part::Process]).collect()
    }
}

/// Checked settings of the parts a command runs.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Present when the command runs a broker.
    pub(crate) broker: Option<BrokerConfig>,
    /// The connector of the plain keys. Present when the command runs connectors, unless those keys are only there for
    /// the named ones.
    pub(crate) connector: Option<ConnectorConfig>,
    /// Further connectors, in the order of their names.
    pub(crate) named_connectors: Vec<NamedConnector>,
    /// Whether `bootstrap.servers` was given; if not, a broker of our own takes its place.
    pub(crate) is_bootstrap_given: bool,
    /// Metrics, health and the page.
    pub(crate) console: ConsoleConfig,
    /// `log.level`, if it was given.
    pub(crate) log_level: Option<String>,
    /// What a person should know before it starts.
    pub(crate) warnings: Vec<String>,
}

impl Configuration {
    /// Checks everything the layers say. Keys for a part that does not run are left alone, so that one file serves all
    /// commands.
    ///
    /// # Errors
    /// Every problem at once.
    pub(crate) fn read(layers: Layers, parts: Parts) -> Result<Self, ConfigurationError> {
        let (Said { plain, named }, problems, warnings) = layers.into_parts();
        let mut reader = Reader { settings: plain, problems, warnings };
        let broker = parts.broker.then(|| reader.broker());
        let (connector, named_connectors) = match parts.connector {
            true => connectors::read(&reader.settings, &named, &mut reader.problems),
            false => (None, Vec::new()),
        };
        let console = reader.console();
        let is_bootstrap_given = reader.settings.contains_key(keys::BOOTSTRAP_SERVERS);
        let log_level = reader.log_level();
        ConfigurationError::unless_none(reader.problems)?;
        let warnings = reader.warnings;
        Ok(Self { broker, connector, named_connectors, is_bootstrap_given, console, log_level, warnings })
    }
}

struct Reader {
    settings: Settings,
    problems: Vec<String>,
    warnings: Vec<String>,
}

impl Reader {
    fn broker(&mut self) -> BrokerConfig {
        let data_directory = self.data_directory();
        let mut config = BrokerConfig::new(data_directory, "");
        self.listeners(&mut config);
        let known: Vec<&str> = config.settings().into_iter().map(|(key, _)| key).collect();
        for (key, setting) in self.settings.iter().filter(|(key, _)| known.contains(key)) {
            if let Err(error) = config.set(key, &setting.value) {
                self.problems.push(format!("{error} ({})", setting.origin));
            }
        }
        config
    }

    fn console(&mut self) -> ConsoleConfig {
        let mut config = ConsoleConfig::default();
        for key in ConsoleConfig::KEYS {
            let Some(setting) = self.settings.get(key) else { continue };
            if let Err(error) = config.set(key, &setting.value) {
                self.problems.push(format!("{key} ({}): {error}", setting.origin));
            }
        }
        config
    }

    fn log_level(&mut self) -> Option<String> {
        let setting = self.settings.get(keys::LOG_LEVEL)?;
        if let Err(reason) = telemetry::check_log_filter(&setting.value) {
            self.problems.push(format!("log.level ({}): {reason}", setting.origin));
        }
        Some(setting.value.clone())
    }

    fn data_directory(&mut self) -> PathBuf {
        let Some(setting) = self.settings.get(keys::LOG_DIRS) else { return PathBuf::from(keys::DEFAULT_DATA_DIR) };
        if setting.value.contains(',') || setting.value.is_empty() {
            self.problems.push(format!("log.dirs ({}): expected exactly one directory", setting.origin));
        }
        PathBuf::from(&setting.value)
    }

    fn listeners(&mut self, config: &mut BrokerConfig) {
        let default = Setting { value: keys::DEFAULT_LISTENER.to_owned(), origin: Origin::Default };
        let given = self.settings.get(keys::LISTENERS).unwrap_or(&default);
        let advertised = self.settings.get(keys::ADVERTISED_LISTENERS);
        match listeners::read(given, advertised, listeners::resolvable_host_name) {
            Ok(read) => {
                config.listeners = read.listeners;
                self.warnings.extend(read.warnings);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }
}

#[cfg(test)]
mod tests;
