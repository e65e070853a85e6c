//! From texts to the broker's and the connector's own typed settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pillion_broker::BrokerConfig;
use pillion_cdc::{ConnectorConfig, PostgresUrl};

use super::keys::{self, Part};
use super::layers::{Layers, Origin, Setting};
use super::listeners;
use super::problem::ConfigurationError;

/// Where the broker keeps its data unless told otherwise.
const DEFAULT_DATA_DIR: &str = "pillion-data";
/// Kafka's port, on this machine only: nobody else gets in until asked.
const DEFAULT_LISTENER: &str = "PLAINTEXT://127.0.0.1:9092";
/// Where the connector publishes to, unless a broker of our own or a setting says otherwise.
const DEFAULT_BOOTSTRAP: &str = "127.0.0.1:9092";

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
        broker.into_iter().chain(self.connector.then_some(Part::Connector)).collect()
    }
}

/// Checked settings of the parts a command runs.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Present when the command runs a broker.
    pub(crate) broker: Option<BrokerConfig>,
    /// Present when the command runs a connector.
    pub(crate) connector: Option<ConnectorConfig>,
    /// Whether `bootstrap.servers` was given; if not, a broker of our own takes its place.
    pub(crate) is_bootstrap_given: bool,
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
        let (settings, problems) = layers.into_parts();
        let mut reader = Reader { settings, problems, warnings: Vec::new() };
        let broker = parts.broker.then(|| reader.broker());
        let connector = if parts.connector { reader.connector() } else { None };
        let is_bootstrap_given = reader.settings.contains_key(keys::BOOTSTRAP_SERVERS);
        ConfigurationError::unless_none(reader.problems)?;
        Ok(Self { broker, connector, is_bootstrap_given, warnings: reader.warnings })
    }
}

struct Reader {
    settings: BTreeMap<&'static str, Setting>,
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

    fn data_directory(&mut self) -> PathBuf {
        let Some(setting) = self.settings.get(keys::LOG_DIRS) else { return PathBuf::from(DEFAULT_DATA_DIR) };
        if setting.value.contains(',') || setting.value.is_empty() {
            self.problems.push(format!("log.dirs ({}): expected exactly one directory", setting.origin));
        }
        PathBuf::from(&setting.value)
    }

    fn listeners(&mut self, config: &mut BrokerConfig) {
        let default = Setting { value: DEFAULT_LISTENER.to_owned(), origin: Origin::Default };
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

    fn connector(&mut self) -> Option<ConnectorConfig> {
        let postgres = self.postgres_url()?;
        let mut config = ConnectorConfig::new(postgres, vec![DEFAULT_BOOTSTRAP.to_owned()]);
        for (key, setting) in &self.settings {
            let is_ours = *key == keys::POSTGRES_URL || keys::DATABASE_KEYS.iter().any(|(own, _)| own == key);
            if is_ours || keys::find(key).is_none_or(|(_, part)| part != Part::Connector) {
                continue;
            }
            let outcome = match *key {
                keys::AUTO_INIT => switch(&setting.value).map(|on| config.auto_init = on),
                key => config.set(key, &setting.value).map_err(|error| error.to_string()),
            };
            if let Err(reason) = outcome {
                self.problems.push(format!("{key} ({}): {reason}", setting.origin));
            }
        }
        if let Err(errors) = config.validate() {
            self.problems.extend(errors.iter().map(ToString::to_string));
        }
        Some(config)
    }

    /// From `postgres.url`, or from Debezium's `database.*`.
    fn postgres_url(&mut self) -> Option<PostgresUrl> {
        let given = keys::DATABASE_KEYS.iter().filter_map(|(key, name)| Some((*key, *name, self.settings.get(key)?)));
        let given: Vec<_> = given.collect();
        // A stand-in that a command put there gives way to whatever was said.
        let url = self.settings.get(keys::POSTGRES_URL);
        let url = url.filter(|url| url.origin != Origin::Default || given.is_empty());
        let (text, origin) = match (url, given.first()) {
            (Some(url), None) => (url.value.clone(), url.origin.clone()),
            (None, Some((_, _, first))) => {
                let pairs = given.iter().map(|(_, name, setting)| format!("{name}={}", quoted(&setting.value)));
                (pairs.collect::<Vec<_>>().join(" "), first.origin.clone())
            }
            (Some(url), Some((key, _, other))) => {
                let problem = format!("postgres.url ({}) and {key} ({}): give one of them", url.origin, other.origin);
                self.problems.push(problem);
                return None;
            }
            (None, None) => {
                self.problems.push(
                    "no database is given: --postgres postgresql://user:password@host:port/database, \
                     PILLION_POSTGRES_URL, or postgres.url in the file"
                        .to_owned(),
                );
                return None;
            }
        };
        match text.parse() {
            Ok(url) => Some(url),
            Err(error) => {
                // The text may hold a password and is not repeated.
                self.problems.push(format!("postgres.url ({origin}): {error}"));
                None
            }
        }
    }
}

/// A value of libpq's `key=value` form.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn switch(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("`{value}`: expected true or false"))
}

#[cfg(test)]
mod tests;
